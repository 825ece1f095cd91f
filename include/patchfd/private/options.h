#pragma once
/* Settings, and options whose value is chosen where they are not set: in the help, a word stands where PETSc would print -1 or (null) */
#include <petsc/private/petscimpl.h>
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

/* reads the option of an enumeration and calls the public setter */
#define PATCHFD_OPTION_ENUM(opt, text, Setter, object, names, value) \
  do { \
    PetscEnum value_ = (PetscEnum)(value); \
    PetscBool set_; \
\
    PetscCall(PetscOptionsEnum(opt, text, #Setter, names, value_, &value_, &set_)); \
    if (set_) PetscCall(Setter(object, (int)value_)); \
  } while (0)

/* the body of a public setter Name(): does what the method of the object's type does, nothing where there is none */
#define PATCHFD_SET(Object, object, Name, Kind, Type, value) \
  PetscFunctionBegin; \
  PetscValidHeaderSpecific(object, Object##_CLASSID, 1); \
  PetscValidLogicalCollective##Kind(object, value, 2); \
  PetscTryMethod(object, #Name "_C", (Object, Type), (object, value)); \
  PetscFunctionReturn(PETSC_SUCCESS)

/* that of a getter, an error where there is none */
#define PATCHFD_GET(Object, object, Name, Type, value) \
  PetscFunctionBegin; \
  PetscValidHeaderSpecific(object, Object##_CLASSID, 1); \
  PetscAssertPointer(value, 2); \
  PetscUseMethod(object, #Name "_C", (Object, Type), (object, value)); \
  PetscFunctionReturn(PETSC_SUCCESS)

/* the methods of an object's type, which its creation composes and its destruction takes away */
typedef struct {
  const char  *name;
  PetscVoidFn *fn;
} PatchFDMethod;
#define PATCHFD_METHOD(Name, Type) \
  { \
    #Name "_C", (PetscVoidFn *)Name##_##Type \
  }
#define PATCHFD_METHODS(Object, Type, Name) PATCHFD_METHOD(Object##Type##Set##Name, Type), PATCHFD_METHOD(Object##Type##Get##Name, Type)

static inline PetscErrorCode PatchFDComposeMethods(PetscObject object, size_t n, const PatchFDMethod method[], PetscBool there)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < n; i++) PetscCall(PetscObjectComposeFunction_Private(object, method[i].name, there ? method[i].fn : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the methods behind KSPFusedCGSetGraph() and others like it: a number of the object; before: what a change needs */
#define PATCHFD_SETTING(Object, Type, Name, Kind, number, before) \
  static PetscErrorCode Object##Type##Set##Name##_##Type(Object object, Kind value) \
  { \
    PetscFunctionBegin; \
    before; \
    (number) = value; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode Object##Type##Get##Name##_##Type(Object object, Kind *value) \
  { \
    PetscFunctionBegin; \
    *value = (number); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
