// loops_simbody.cpp: the ladder in Simbody: cranks and couplers as a tree of pins, each loop closed by a point of the
// coupler on the axis of the next pin (two equations); CPODES with Adams methods, projected by Simbody. A module of its
// own, because Simbody brings a part of SUNDIALS under the same names; built only where Simbody was found.
#include "loops.h"

#include <Simbody.h>
#include <cmath>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

using SimTK::MobilizedBody;
using SimTK::Vec3;

struct loops_peer {
    explicit loops_peer(int loops);

    int                           n;
    SimTK::MultibodySystem        system;
    SimTK::SimbodyMatterSubsystem matter;
    SimTK::GeneralForceSubsystem  forces;
    std::vector<MobilizedBody>    cranks, couplers;
    SimTK::State                  start;
};

// A rod of 1 m and 1 kg from its pin to end
static SimTK::Body::Rigid rod(const Vec3 &end)
{
    const double         along = 1.0 / 12, thin = 1e-4;
    const bool           vertical = end[0] == 0;
    const SimTK::Inertia central(vertical ? along : thin, vertical ? thin : along, along);
    return SimTK::Body::Rigid(SimTK::MassProperties(1, end / 2, central.shiftFromMassCenter(end / 2, 1)));
}

loops_peer::loops_peer(int loops) : n(loops), matter(system), forces(system)
{
    const Vec3         down(0, -1, 0), across(1, 0, 0);
    SimTK::Body::Rigid crank = rod(down), coupler = rod(across);
    SimTK::Force::Gravity(forces, matter, Vec3(0, -LOOPS_GRAVITY, 0));
    for (int i = 0; i <= n; i++) {
        cranks.push_back(MobilizedBody::Pin(matter.Ground(), Vec3(i, 0, 0), crank, Vec3(0)));
        if (i < n) couplers.push_back(MobilizedBody::Pin(cranks.back(), down, coupler, Vec3(0)));
    }
    for (int i = 0; i < n; i++)
        SimTK::Constraint::PointOnLine(cranks[(size_t)i + 1], SimTK::ZAxis, down, couplers[(size_t)i], across);
    start = system.realizeTopology();
    // pins turn about +z: the cranks to their positive side, the couplers stay horizontal
    for (const MobilizedBody &body : cranks) body.setOneU(start, 0, 1);
    for (const MobilizedBody &body : couplers) body.setOneU(start, 0, -1);
}

static const char *version()
{
    static char text[40];
    int         major = 0, minor = 0, build = 0;
    SimTK_version_simbody(&major, &minor, &build);
    std::snprintf(text, sizeof text, "%d.%d", major, minor);
    return text;
}

static loops_peer *create(int n, char *message, size_t size)
{
    try {
        return new loops_peer(n);
    } catch (const std::exception &error) {
        std::snprintf(message, size, "%s", error.what());
        return nullptr;
    }
}

static void destroy(loops_peer *peer)
{
    delete peer;
}

// Fineness: accuracy 10^-(4 + fineness / 2)
static loops_outcome run(loops_peer *peer, int fineness, double exact, double (*clock)())
{
    loops_outcome out = {NAN, NAN, 0};
    try {
        SimTK::CPodesIntegrator integrator(peer->system, SimTK::CPodes::Adams);
        integrator.setAccuracy(std::pow(10, -4 - 0.5 * fineness));
        const double start = clock();
        integrator.initialize(peer->start);
        while (integrator.getTime() < LOOPS_END) integrator.stepTo(LOOPS_END);
        out.seconds = clock() - start;
        out.steps = integrator.getNumStepsTaken();
        out.error = 0;
        for (const MobilizedBody &body : peer->cranks)
            out.error = std::fmax(out.error, std::fabs(body.getOneQ(integrator.getState(), 0) - exact));
    } catch (const std::exception &) {
        out.error = NAN;
    }
    return out;
}

const loops_program loops_simbody = {
    "Simbody", "simbody cpodes adams", version, create, run, destroy, {2, 2, 2}, 6,
};
