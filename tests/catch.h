#pragma once
/* Errors that a test expects: they are caught, and what the first one said is kept in place of a print */
#include <petscsys.h>

static PetscErrorCode lastcode;
static char           lastmessage[4096];

static PetscErrorCode Catch(PETSC_UNUSED MPI_Comm comm, PETSC_UNUSED int line, PETSC_UNUSED const char *function,
                            PETSC_UNUSED const char *file, PetscErrorCode code, PetscErrorType type, const char *message,
                            PETSC_UNUSED void *ctx)
{
  if (type == PETSC_ERROR_INITIAL) {
    lastcode = code;
    (void)PetscStrncpy(lastmessage, message ? message : "", sizeof(lastmessage));
  }
  return code;
}

#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  #define CATCH_STACK petscstack.currentsize
#else
static int catchstack;
  #define CATCH_STACK catchstack
#endif

/* ierr = the call; where it fails, PETSc's stack of functions is left as it was before it */
#define CATCH(ierr, ...) \
  do { \
    const int depth_ = CATCH_STACK; \
    lastcode         = PETSC_SUCCESS; \
    lastmessage[0]   = 0; \
    PetscCall(PetscPushErrorHandler(Catch, NULL)); \
    (ierr)      = __VA_ARGS__; \
    CATCH_STACK = depth_; \
    PetscCall(PetscPopErrorHandler()); \
  } while (0)

/* the call must fail with this code, or with any if it is 0, and a message that contains the words */
#define FAILS(call, code, words) \
  do { \
    PetscErrorCode fails_; \
    CATCH(fails_, call); \
    PetscCheck(fails_ && (!(code) || lastcode == (code)) && strstr(lastmessage, words), PETSC_COMM_SELF, PETSC_ERR_PLIB, \
               "%s: code %d, not %d \"%s\": %s", #call, (int)lastcode, (int)(code), words, lastmessage); \
  } while (0)
