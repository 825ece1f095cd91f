#pragma once
/* What a test reads of a .vts file that PETSc has written: arrays of numbers behind a header of text */
#include <petscsys.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char  *text, *data; /* the file; what offsets count from */
  size_t length;
} VTKFile;

static PetscErrorCode VTKFileRead(const char name[], VTKFile *f)
{
  const char start[] = "<AppendedData encoding=\"raw\">";
  FILE      *fp      = fopen(name, "rb");

  PetscFunctionBegin;
  PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No file %s", name);
  PetscCall(PetscMalloc1(10000000, &f->text));
  f->length          = fread(f->text, 1, 9999999, fp);
  f->text[f->length] = 0;
  fclose(fp);
  f->data = strstr(f->text, start); /* no zero byte comes before */
  PetscCheck(f->data, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No data in %s", name);
  f->data = strchr(f->data, '_') + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an array of a piece: found by its name in the header, n numbers long */
static PetscErrorCode VTKFileArray(const VTKFile *f, char *piece, const char name[], PetscInt n, PetscReal a[])
{
  const char  word[] = "offset=\"";
  char       *line   = strstr(piece, name), *offset;
  PetscInt64  bytes;
  const char *data;

  PetscFunctionBegin;
  offset = line ? strstr(line, word) : NULL;
  PetscCheck(offset && offset < f->data, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No array %s", name);
  data = f->data + strtoll(offset + sizeof(word) - 1, NULL, 10);
  PetscCheck(data + sizeof(bytes) + n * sizeof(PetscReal) <= f->text + f->length, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s lies behind the end of the file", name);
  PetscCall(PetscMemcpy(&bytes, data, sizeof(bytes)));
  PetscCheck(bytes == (PetscInt64)(n * sizeof(PetscReal)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s has %" PetscInt64_FMT " bytes, not %d",
             name, bytes, (int)(n * sizeof(PetscReal)));
  PetscCall(PetscMemcpy(a, data + sizeof(bytes), (size_t)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
