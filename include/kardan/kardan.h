// kardan/kardan.h: the whole public interface of kardan.
#ifndef KARDAN_KARDAN_H
#define KARDAN_KARDAN_H

#include <kardan/arkode.h>
#include <kardan/base.h>
#include <kardan/bdf.h>
#include <kardan/certificate.h>
#include <kardan/compare.h>
#include <kardan/cvode.h>
#include <kardan/dae.h>
#include <kardan/eom.h>
#include <kardan/equilibrium.h>
#include <kardan/explain.h>
#include <kardan/explicit.h>
#include <kardan/extrapolation.h>
#include <kardan/formulation.h>
#include <kardan/ida.h>
#include <kardan/initial.h>
#include <kardan/linearize.h>
#include <kardan/model.h>
#include <kardan/probe.h>
#include <kardan/radau.h>
#include <kardan/realtime.h>
#include <kardan/results.h>
#include <kardan/sdirk.h>
#include <kardan/simulation.h>
#include <kardan/system.h>

#endif
