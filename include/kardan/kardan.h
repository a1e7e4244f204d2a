// kardan/kardan.h: the whole public interface of kardan.
#ifndef KARDAN_KARDAN_H
#define KARDAN_KARDAN_H

#include <kardan/base.h>
#include <kardan/certificate.h>
#include <kardan/compare.h>
#include <kardan/cosim.h>
#include <kardan/dae.h>
#include <kardan/eom.h>
#include <kardan/equilibrium.h>
#include <kardan/explain.h>
#include <kardan/fmi.h>
#include <kardan/formulation.h>
#include <kardan/initial.h>
#include <kardan/integrator.h>
#include <kardan/linearize.h>
#include <kardan/model.h>
#include <kardan/option.h>
#include <kardan/probe.h>
#include <kardan/query.h>
#include <kardan/rainflow.h>
#include <kardan/realtime.h>
#include <kardan/results.h>
#include <kardan/saved.h>
#include <kardan/simulation.h>
#include <kardan/study.h>
#include <kardan/system.h>

#endif
