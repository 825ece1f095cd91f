#pragma once
/* What a test reads of a .vts file that PETSc has written: arrays of numbers behind a header of text */
#include <petscpatchfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char  *text, *data; /* the file; what offsets count from */
  size_t length;
} VTKFile;

static inline PetscErrorCode VTKFileRead(const char name[], VTKFile *f)
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
static inline PetscErrorCode VTKFileArray(const VTKFile *f, char *piece, const char name[], PetscInt n, PetscReal a[])
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

/* a piece is a box of nodes: each of them must be where the mesh has it, and have the value that was written */
static inline PetscErrorCode VTKFileCheckPiece(const VTKFile *f, char *piece, PetscInt dim, PetscReal *const nodes[3],
                                               DMBoxFunctionFn *temperature, void *ctx, PetscInt *visited)
{
  long long  e[6];
  PetscInt   n[3];
  PetscReal *x, *u;

  PetscFunctionBegin;
  PetscCheck(sscanf(piece, "<Piece Extent=\"%lld %lld %lld %lld %lld %lld\">", &e[0], &e[1], &e[2], &e[3], &e[4], &e[5]) == 6,
             PETSC_COMM_SELF, PETSC_ERR_PLIB, "No extent");
  for (PetscInt d = 0; d < 3; d++) n[d] = (PetscInt)(e[2 * d + 1] - e[2 * d] + 1);
  PetscCall(PetscMalloc2(3 * n[0] * n[1] * n[2], &x, n[0] * n[1] * n[2], &u));
  PetscCall(VTKFileArray(f, piece, "Name=\"Position\"", 3 * n[0] * n[1] * n[2], x));
  PetscCall(VTKFileArray(f, piece, "Name=\"temperature\"", n[0] * n[1] * n[2], u));
  for (PetscInt k = 0, m = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i++, m++, (*visited)++) {
        const PetscInt at[3] = {i + (PetscInt)e[0], j + (PetscInt)e[2], k + (PetscInt)e[4]};
        PetscScalar    value;

        for (PetscInt d = 0; d < 3; d++) {
          PetscCheck(x[3 * m + d] == (d < dim ? nodes[d][at[d]] : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                     "Coordinate %" PetscInt_FMT " of node %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT " is %g", d, at[0], at[1],
                     at[2], (double)x[3 * m + d]);
        }
        PetscCall((*temperature)(dim, 0, &x[3 * m], 1, &value, ctx));
        PetscCheck(u[m] == value, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   "Node %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT " has the value %g, not %g", at[0], at[1], at[2], (double)u[m],
                   (double)value);
      }
    }
  }
  PetscCall(PetscFree2(x, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all nodes of the mesh are in the file, once each, since pieces of a structured grid do not overlap */
static inline PetscErrorCode VTKFileCheck(MPI_Comm comm, const char name[], PetscInt dim, PetscReal *const nodes[3], const PetscInt n[3],
                                          PetscInt pieces, DMBoxFunctionFn *temperature, void *ctx)
{
  PetscMPIInt rank;
  VTKFile     f;
  PetscInt    count = 0, visited = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Barrier(comm));
  if (rank) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VTKFileRead(name, &f));
  for (char *piece = strstr(f.text, "<Piece "); piece && piece < f.data; piece = strstr(piece + 1, "<Piece ")) {
    PetscCall(VTKFileCheckPiece(&f, piece, dim, nodes, temperature, ctx, &visited));
    count++;
  }
  PetscCheck(count == pieces && visited == n[0] * n[1] * n[2], PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s, %" PetscInt_FMT "D: %" PetscInt_FMT " pieces with %" PetscInt_FMT " nodes, not %" PetscInt_FMT " with %" PetscInt_FMT,
             name, dim, count, visited, pieces, n[0] * n[1] * n[2]);
  PetscCall(PetscFree(f.text));
  remove(name);
  PetscFunctionReturn(PETSC_SUCCESS);
}
