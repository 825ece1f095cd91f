#pragma once
/*
  Programs of several tests, of which -test runs one.  With "-each_NAME a:b" it runs with -NAME a, then with -NAME b, and so on for each
  combination, in one process: most tests take less time than the start of a program.  As with PETSc's {{a b}} all have to print the same.
*/
#include <petscpatchfd.h>

typedef struct {
  const char *name;
  PetscErrorCode (*run)(void);
} Test;

/* the one that -test names, or else this one; nothing runs for a name that does not exist, and so that is an error */
static inline PetscErrorCode RunOne(size_t n, const Test tests[], const char name[])
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

/* what was printed is shown if it is not what was printed before, with the options that made the difference */
static inline PetscErrorCode RunAndCompare(size_t n, const Test tests[], const char name[], FILE *out, const char options[])
{
  static FILE  *printed = NULL;
  static char  *text, *before;
  static size_t size;

  PetscFunctionBeginUser;
  if (!printed) printed = open_memstream(&text, &size); /* stays open: viewers may keep it */
  PetscCheck(printed, PETSC_COMM_SELF, PETSC_ERR_SYS, "open_memstream() failed");
  rewind(printed);
  PETSC_STDOUT = printed;
  PetscCall(RunOne(n, tests, name));
  PETSC_STDOUT = out;
  fflush(printed);
  text[size] = 0;
  if (!before || strcmp(text, before)) fprintf(out, "%s%s%s", before ? options : "", before ? "\n" : "", text);
  free(before);
  before = strdup(text); /* not PETSc's, which finds what is left at the end */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the combinations of what -each_NAME says from this argument on; `options` are those that are chosen */
static inline PetscErrorCode RunEach(size_t n, const Test tests[], const char name[], int arg, const char options[])
{
  int    argc, nvalue;
  char **args, **value, more[512];

  PetscFunctionBeginUser;
  PetscCall(PetscGetArgs(&argc, &args));
  while (arg < argc && strncmp(args[arg], "-each_", 6)) arg++;
  if (arg + 1 >= argc) {
    PetscCall(*options ? RunAndCompare(n, tests, name, PETSC_STDOUT, options) : RunOne(n, tests, name));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscOptionsHasName(NULL, NULL, args[arg], NULL)); /* it is used */
  PetscCall(PetscStrToArray(args[arg + 1], ':', &nvalue, &value));
  for (int i = 0; i < nvalue; i++) {
    PetscCall(PetscSNPrintf(more, sizeof(more), "%s-%s %s ", options, args[arg] + 6, value[i]));
    PetscCall(PetscOptionsInsertString(NULL, more));
    PetscCall(RunEach(n, tests, name, arg + 2, more));
  }
  PetscCall(PetscStrToArrayDestroy(nvalue, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode RunTest(size_t n, const Test tests[], const char name[])
{
  PetscFunctionBeginUser;
  PetscCall(RunEach(n, tests, name, 1, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
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
