#pragma once
/* Programs of several tests, of which -test runs one */
#include <petscsys.h>

typedef struct {
  const char *name;
  PetscErrorCode (*run)(void);
} Test;

/* the one that -test names, or else this one */
static PetscErrorCode RunTest(size_t n, const Test tests[], const char name[])
{
  char test[64];

  PetscFunctionBeginUser;
  PetscCall(PetscStrncpy(test, name, sizeof(test)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", test, sizeof(test), NULL));
  for (size_t i = 0; i < n; i++)
    if (!strcmp(test, tests[i].name)) PetscCall((*tests[i].run)());
  PetscFunctionReturn(PETSC_SUCCESS);
}
