#pragma once
/* Settings, and options whose value is chosen where they are not set: in the help, a word stands where PETSc would print -1 or (null) */
#include <petscpatchfd.h>
#include <patchfd/private/compat.h>

/* the word for a value, which PETSc also reads; NULL for a number that is one */
static inline const char *PatchFDOptionsWord(PetscReal value)
{
  return value == PETSC_DETERMINE ? "determine" : (value == PETSC_UNLIMITED ? "unlimited" : NULL);
}

/* prints what PetscOptionsInt() and its kin would, and has them print nothing */
static inline PetscErrorCode PatchFDOptionsHelp(PatchFDOptionItems items, const char word[], const char opt[], const char text[],
                                                const char man[])
{
  PetscFunctionBegin;
  if (items->printhelp && items->count == 1 && !items->alreadyprinted)
    PetscCall((*PetscHelpPrintf)(items->comm, "  -%s%s: <%s>: %s (%s)\n", items->prefix ? items->prefix : "", opt + 1, word, text, man));
  items->printhelp = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscOptionsInt() for `type` Int, and so on; word: what to print in place of the value, or NULL */
#define PatchFDOptions(type, word, opt, text, man, ...) \
  do { \
    const PetscBool   help_ = PetscOptionsObject->printhelp; \
    const char *const word_ = word; \
\
    if (word_) PetscCall(PatchFDOptionsHelp(PetscOptionsObject, word_, opt, text, man)); \
    PetscCall(PetscOptions##type(opt, text, man, __VA_ARGS__)); \
    PetscOptionsObject->printhelp = help_; \
  } while (0)

/* the methods behind KSPFusedCGSetGraph(), KSPFusedCGGetGraph() and others like them: a member of the object's data, and nothing else */
#define PATCHFD_SETTING(Object, Type, Name, Kind, member) \
  static PetscErrorCode Object##Type##Set##Name##_##Type(Object object, Kind value) \
  { \
    PetscFunctionBegin; \
    ((Object##_##Type *)object->data)->member = value; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode Object##Type##Get##Name##_##Type(Object object, Kind *value) \
  { \
    PetscFunctionBegin; \
    *value = ((const Object##_##Type *)object->data)->member; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
