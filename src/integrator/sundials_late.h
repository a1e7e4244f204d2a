// integrator/sundials_late.h: SUNDIALS, loaded when an integrator of it is first made, as core/hdf5_late.h does it for HDF5. The
// adapters include this in place of SUNDIALS' headers and ask kd_sundials_load before the first call; its functions have
// their names. Without KD_SUNDIALS_LATE it is linked as usual.
#ifndef KD_INTEGRATOR_SUNDIALS_LATE_H
#define KD_INTEGRATOR_SUNDIALS_LATE_H

#include <arkode/arkode_arkstep.h>
#include <arkode/arkode_erkstep.h>
#include <cvode/cvode.h>
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <stdbool.h>
#include <stddef.h>
#include <sundials/sundials_linearsolver.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

// false: why says what is missing
bool kd_sundials_load(char *why, size_t size);

#ifdef KD_SUNDIALS_LATE

// clang-format off
// Of every one of the three libraries, taken from IDA's: vectors, matrices, solvers of equations
#define KD_SUNDIALS_FUNCTIONS(X)                                                                                       \
    X(N_VConst) X(N_VDestroy) X(N_VGetArrayPointer) X(N_VLinearSum) X(N_VNew_Serial) X(N_VScale)                       \
    X(SUNContext_Create) X(SUNContext_Free) X(SUNDenseMatrix) X(SUNLinSolFree) X(SUNLinSolFreeEmpty)                   \
    X(SUNLinSolNewEmpty) X(SUNLinSol_Dense) X(SUNMatDestroy) X(SUNNonlinSolFree) X(SUNNonlinSol_FixedPoint)
#define KD_IDA_FUNCTIONS(X)                                                                                            \
    X(IDACreate) X(IDAFree) X(IDAGetCurrentStep) X(IDAGetDky) X(IDAGetErrWeights) X(IDAGetEstLocalErrors)              \
    X(IDAGetIntegratorStats) X(IDAGetNumJacEvals) X(IDAGetNumLinResEvals) X(IDAGetNumNonlinSolvIters)                  \
    X(IDAGetNumStepSolveFails) X(IDAInit) X(IDAReInit) X(IDASetErrHandlerFn) X(IDASetId) X(IDASetInitStep)             \
    X(IDASetJacFn) X(IDASetLinearSolver) X(IDASetMaxNumSteps) X(IDASetMaxStep) X(IDASetNonlinConvCoef)                 \
    X(IDASetStopTime) X(IDASetSuppressAlg) X(IDASetUserData) X(IDASolve) X(IDAWFtolerances)
#define KD_CVODE_FUNCTIONS(X)                                                                                          \
    X(CVode) X(CVodeCreate) X(CVodeFree) X(CVodeGetDky) X(CVodeGetErrWeights) X(CVodeGetEstLocalErrors)                \
    X(CVodeGetIntegratorStats) X(CVodeGetNumJacEvals) X(CVodeGetNumLinRhsEvals) X(CVodeGetNumNonlinSolvIters)          \
    X(CVodeGetNumStepSolveFails) X(CVodeInit) X(CVodeReInit) X(CVodeSetErrHandlerFn) X(CVodeSetInitStep)               \
    X(CVodeSetLinSysFn) X(CVodeSetLinearSolver) X(CVodeSetMaxNumSteps) X(CVodeSetMaxOrd) X(CVodeSetMaxStep)            \
    X(CVodeSetNonlinearSolver) X(CVodeSetProjErrEst) X(CVodeSetProjFn) X(CVodeSetStopTime) X(CVodeSetUserData)         \
    X(CVodeWFtolerances)
#define KD_ARKODE_FUNCTIONS(X)                                                                                         \
    X(ARKStepCreate) X(ARKStepEvolve) X(ARKStepFree) X(ARKStepGetCurrentStep) X(ARKStepGetDky)                         \
    X(ARKStepGetErrWeights) X(ARKStepGetEstLocalErrors) X(ARKStepGetNumErrTestFails) X(ARKStepGetNumJacEvals)          \
    X(ARKStepGetNumLinRhsEvals) X(ARKStepGetNumLinSolvSetups) X(ARKStepGetNumNonlinSolvIters)                          \
    X(ARKStepGetNumRhsEvals) X(ARKStepGetNumStepSolveFails) X(ARKStepGetStepStats) X(ARKStepReInit)                    \
    X(ARKStepSetDeduceImplicitRhs) X(ARKStepSetErrHandlerFn) X(ARKStepSetFixedStep) X(ARKStepSetInitStep)              \
    X(ARKStepSetLinSysFn) X(ARKStepSetLinearSolver) X(ARKStepSetMaxNonlinIters) X(ARKStepSetMaxNumSteps)               \
    X(ARKStepSetMaxStep) X(ARKStepSetOrder) X(ARKStepSetPostprocessStepFn) X(ARKStepSetPredictorMethod)                \
    X(ARKStepSetStopTime) X(ARKStepSetTableNum) X(ARKStepSetUserData) X(ARKStepWFtolerances)                           \
    X(ARKodeButcherTable_Free) X(ARKodeButcherTable_LoadDIRK) X(ERKStepCreate) X(ERKStepEvolve) X(ERKStepFree)         \
    X(ERKStepGetCurrentStep) X(ERKStepGetDky) X(ERKStepGetErrWeights) X(ERKStepGetEstLocalErrors)                      \
    X(ERKStepGetNumErrTestFails) X(ERKStepGetNumRhsEvals) X(ERKStepGetStepStats) X(ERKStepReInit)                      \
    X(ERKStepSetErrHandlerFn) X(ERKStepSetFixedStep) X(ERKStepSetInitStep) X(ERKStepSetMaxNumSteps)                    \
    X(ERKStepSetMaxStep) X(ERKStepSetOrder) X(ERKStepSetPostprocessStepFn) X(ERKStepSetStopTime)                       \
    X(ERKStepSetUserData) X(ERKStepWFtolerances)
// clang-format on

typedef struct kd_sundials_library {
#define KD_SUNDIALS_MEMBER(name) __typeof__(name) *name;
    KD_SUNDIALS_FUNCTIONS(KD_SUNDIALS_MEMBER)
    KD_IDA_FUNCTIONS(KD_SUNDIALS_MEMBER)
    KD_CVODE_FUNCTIONS(KD_SUNDIALS_MEMBER)
    KD_ARKODE_FUNCTIONS(KD_SUNDIALS_MEMBER)
#undef KD_SUNDIALS_MEMBER
} kd_sundials_library;

extern kd_sundials_library kd_sundials_of; // filled by kd_sundials_load

#ifndef KD_SUNDIALS_AS_IT_IS
#define N_VConst (kd_sundials_of.N_VConst)
#define N_VDestroy (kd_sundials_of.N_VDestroy)
#define N_VGetArrayPointer (kd_sundials_of.N_VGetArrayPointer)
#define N_VLinearSum (kd_sundials_of.N_VLinearSum)
#define N_VNew_Serial (kd_sundials_of.N_VNew_Serial)
#define N_VScale (kd_sundials_of.N_VScale)
#define SUNContext_Create (kd_sundials_of.SUNContext_Create)
#define SUNContext_Free (kd_sundials_of.SUNContext_Free)
#define SUNDenseMatrix (kd_sundials_of.SUNDenseMatrix)
#define SUNLinSolFree (kd_sundials_of.SUNLinSolFree)
#define SUNLinSolFreeEmpty (kd_sundials_of.SUNLinSolFreeEmpty)
#define SUNLinSolNewEmpty (kd_sundials_of.SUNLinSolNewEmpty)
#define SUNLinSol_Dense (kd_sundials_of.SUNLinSol_Dense)
#define SUNMatDestroy (kd_sundials_of.SUNMatDestroy)
#define SUNNonlinSolFree (kd_sundials_of.SUNNonlinSolFree)
#define SUNNonlinSol_FixedPoint (kd_sundials_of.SUNNonlinSol_FixedPoint)
#define IDACreate (kd_sundials_of.IDACreate)
#define IDAFree (kd_sundials_of.IDAFree)
#define IDAGetCurrentStep (kd_sundials_of.IDAGetCurrentStep)
#define IDAGetDky (kd_sundials_of.IDAGetDky)
#define IDAGetErrWeights (kd_sundials_of.IDAGetErrWeights)
#define IDAGetEstLocalErrors (kd_sundials_of.IDAGetEstLocalErrors)
#define IDAGetIntegratorStats (kd_sundials_of.IDAGetIntegratorStats)
#define IDAGetNumJacEvals (kd_sundials_of.IDAGetNumJacEvals)
#define IDAGetNumLinResEvals (kd_sundials_of.IDAGetNumLinResEvals)
#define IDAGetNumNonlinSolvIters (kd_sundials_of.IDAGetNumNonlinSolvIters)
#define IDAGetNumStepSolveFails (kd_sundials_of.IDAGetNumStepSolveFails)
#define IDAInit (kd_sundials_of.IDAInit)
#define IDAReInit (kd_sundials_of.IDAReInit)
#define IDASetErrHandlerFn (kd_sundials_of.IDASetErrHandlerFn)
#define IDASetId (kd_sundials_of.IDASetId)
#define IDASetInitStep (kd_sundials_of.IDASetInitStep)
#define IDASetJacFn (kd_sundials_of.IDASetJacFn)
#define IDASetLinearSolver (kd_sundials_of.IDASetLinearSolver)
#define IDASetMaxNumSteps (kd_sundials_of.IDASetMaxNumSteps)
#define IDASetMaxStep (kd_sundials_of.IDASetMaxStep)
#define IDASetNonlinConvCoef (kd_sundials_of.IDASetNonlinConvCoef)
#define IDASetStopTime (kd_sundials_of.IDASetStopTime)
#define IDASetSuppressAlg (kd_sundials_of.IDASetSuppressAlg)
#define IDASetUserData (kd_sundials_of.IDASetUserData)
#define IDASolve (kd_sundials_of.IDASolve)
#define IDAWFtolerances (kd_sundials_of.IDAWFtolerances)
#define CVode (kd_sundials_of.CVode)
#define CVodeCreate (kd_sundials_of.CVodeCreate)
#define CVodeFree (kd_sundials_of.CVodeFree)
#define CVodeGetDky (kd_sundials_of.CVodeGetDky)
#define CVodeGetErrWeights (kd_sundials_of.CVodeGetErrWeights)
#define CVodeGetEstLocalErrors (kd_sundials_of.CVodeGetEstLocalErrors)
#define CVodeGetIntegratorStats (kd_sundials_of.CVodeGetIntegratorStats)
#define CVodeGetNumJacEvals (kd_sundials_of.CVodeGetNumJacEvals)
#define CVodeGetNumLinRhsEvals (kd_sundials_of.CVodeGetNumLinRhsEvals)
#define CVodeGetNumNonlinSolvIters (kd_sundials_of.CVodeGetNumNonlinSolvIters)
#define CVodeGetNumStepSolveFails (kd_sundials_of.CVodeGetNumStepSolveFails)
#define CVodeInit (kd_sundials_of.CVodeInit)
#define CVodeReInit (kd_sundials_of.CVodeReInit)
#define CVodeSetErrHandlerFn (kd_sundials_of.CVodeSetErrHandlerFn)
#define CVodeSetInitStep (kd_sundials_of.CVodeSetInitStep)
#define CVodeSetLinSysFn (kd_sundials_of.CVodeSetLinSysFn)
#define CVodeSetLinearSolver (kd_sundials_of.CVodeSetLinearSolver)
#define CVodeSetMaxNumSteps (kd_sundials_of.CVodeSetMaxNumSteps)
#define CVodeSetMaxOrd (kd_sundials_of.CVodeSetMaxOrd)
#define CVodeSetMaxStep (kd_sundials_of.CVodeSetMaxStep)
#define CVodeSetNonlinearSolver (kd_sundials_of.CVodeSetNonlinearSolver)
#define CVodeSetProjErrEst (kd_sundials_of.CVodeSetProjErrEst)
#define CVodeSetProjFn (kd_sundials_of.CVodeSetProjFn)
#define CVodeSetStopTime (kd_sundials_of.CVodeSetStopTime)
#define CVodeSetUserData (kd_sundials_of.CVodeSetUserData)
#define CVodeWFtolerances (kd_sundials_of.CVodeWFtolerances)
#define ARKStepCreate (kd_sundials_of.ARKStepCreate)
#define ARKStepEvolve (kd_sundials_of.ARKStepEvolve)
#define ARKStepFree (kd_sundials_of.ARKStepFree)
#define ARKStepGetCurrentStep (kd_sundials_of.ARKStepGetCurrentStep)
#define ARKStepGetDky (kd_sundials_of.ARKStepGetDky)
#define ARKStepGetErrWeights (kd_sundials_of.ARKStepGetErrWeights)
#define ARKStepGetEstLocalErrors (kd_sundials_of.ARKStepGetEstLocalErrors)
#define ARKStepGetNumErrTestFails (kd_sundials_of.ARKStepGetNumErrTestFails)
#define ARKStepGetNumJacEvals (kd_sundials_of.ARKStepGetNumJacEvals)
#define ARKStepGetNumLinRhsEvals (kd_sundials_of.ARKStepGetNumLinRhsEvals)
#define ARKStepGetNumLinSolvSetups (kd_sundials_of.ARKStepGetNumLinSolvSetups)
#define ARKStepGetNumNonlinSolvIters (kd_sundials_of.ARKStepGetNumNonlinSolvIters)
#define ARKStepGetNumRhsEvals (kd_sundials_of.ARKStepGetNumRhsEvals)
#define ARKStepGetNumStepSolveFails (kd_sundials_of.ARKStepGetNumStepSolveFails)
#define ARKStepGetStepStats (kd_sundials_of.ARKStepGetStepStats)
#define ARKStepReInit (kd_sundials_of.ARKStepReInit)
#define ARKStepSetDeduceImplicitRhs (kd_sundials_of.ARKStepSetDeduceImplicitRhs)
#define ARKStepSetErrHandlerFn (kd_sundials_of.ARKStepSetErrHandlerFn)
#define ARKStepSetFixedStep (kd_sundials_of.ARKStepSetFixedStep)
#define ARKStepSetInitStep (kd_sundials_of.ARKStepSetInitStep)
#define ARKStepSetLinSysFn (kd_sundials_of.ARKStepSetLinSysFn)
#define ARKStepSetLinearSolver (kd_sundials_of.ARKStepSetLinearSolver)
#define ARKStepSetMaxNonlinIters (kd_sundials_of.ARKStepSetMaxNonlinIters)
#define ARKStepSetMaxNumSteps (kd_sundials_of.ARKStepSetMaxNumSteps)
#define ARKStepSetMaxStep (kd_sundials_of.ARKStepSetMaxStep)
#define ARKStepSetOrder (kd_sundials_of.ARKStepSetOrder)
#define ARKStepSetPostprocessStepFn (kd_sundials_of.ARKStepSetPostprocessStepFn)
#define ARKStepSetPredictorMethod (kd_sundials_of.ARKStepSetPredictorMethod)
#define ARKStepSetStopTime (kd_sundials_of.ARKStepSetStopTime)
#define ARKStepSetTableNum (kd_sundials_of.ARKStepSetTableNum)
#define ARKStepSetUserData (kd_sundials_of.ARKStepSetUserData)
#define ARKStepWFtolerances (kd_sundials_of.ARKStepWFtolerances)
#define ARKodeButcherTable_Free (kd_sundials_of.ARKodeButcherTable_Free)
#define ARKodeButcherTable_LoadDIRK (kd_sundials_of.ARKodeButcherTable_LoadDIRK)
#define ERKStepCreate (kd_sundials_of.ERKStepCreate)
#define ERKStepEvolve (kd_sundials_of.ERKStepEvolve)
#define ERKStepFree (kd_sundials_of.ERKStepFree)
#define ERKStepGetCurrentStep (kd_sundials_of.ERKStepGetCurrentStep)
#define ERKStepGetDky (kd_sundials_of.ERKStepGetDky)
#define ERKStepGetErrWeights (kd_sundials_of.ERKStepGetErrWeights)
#define ERKStepGetEstLocalErrors (kd_sundials_of.ERKStepGetEstLocalErrors)
#define ERKStepGetNumErrTestFails (kd_sundials_of.ERKStepGetNumErrTestFails)
#define ERKStepGetNumRhsEvals (kd_sundials_of.ERKStepGetNumRhsEvals)
#define ERKStepGetStepStats (kd_sundials_of.ERKStepGetStepStats)
#define ERKStepReInit (kd_sundials_of.ERKStepReInit)
#define ERKStepSetErrHandlerFn (kd_sundials_of.ERKStepSetErrHandlerFn)
#define ERKStepSetFixedStep (kd_sundials_of.ERKStepSetFixedStep)
#define ERKStepSetInitStep (kd_sundials_of.ERKStepSetInitStep)
#define ERKStepSetMaxNumSteps (kd_sundials_of.ERKStepSetMaxNumSteps)
#define ERKStepSetMaxStep (kd_sundials_of.ERKStepSetMaxStep)
#define ERKStepSetOrder (kd_sundials_of.ERKStepSetOrder)
#define ERKStepSetPostprocessStepFn (kd_sundials_of.ERKStepSetPostprocessStepFn)
#define ERKStepSetStopTime (kd_sundials_of.ERKStepSetStopTime)
#define ERKStepSetUserData (kd_sundials_of.ERKStepSetUserData)
#define ERKStepWFtolerances (kd_sundials_of.ERKStepWFtolerances)
#endif
#endif
#endif
