#pragma once
/* Programs of several tests, of which -test runs one */
#include <petscpatchfd.h>

typedef struct {
  const char *name;
  PetscErrorCode (*run)(void);
} Test;

/* the one that -test names, or else this one; nothing runs for a name that does not exist, and so that is an error */
static inline PetscErrorCode RunTest(size_t n, const Test tests[], const char name[])
{
  char test[64], names[1024] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscStrncpy(test, name, sizeof(test)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", test, sizeof(test), NULL));
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(test, tests[i].name)) {
      PetscCall((*tests[i].run)());
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PetscStrlcat(names, " ", sizeof(names)));
    PetscCall(PetscStrlcat(names, tests[i].name, sizeof(names)));
  }
  SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-test %s does not exist; there are:%s", test, names);
}

/* the main() of a program that has tests and nothing else: the name of the first, and all of them */
#define TEST_MAIN(first, ...) \
  int main(int argc, char **argv) \
  { \
    static const Test tests[] = {__VA_ARGS__}; \
\
    PetscFunctionBeginUser; \
    PetscCall(PetscInitialize(&argc, &argv, NULL, help)); \
    PetscCall(PatchFDInitializePackage()); \
    PetscCall(RunTest(PETSC_STATIC_ARRAY_LENGTH(tests), tests, first)); \
    PetscCall(PetscFinalize()); \
    return 0; \
  }
