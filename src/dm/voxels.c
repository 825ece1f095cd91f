/*
  Images with a byte for each cell of a DMBOX, from files.  All ranks get the contents of the file and read them alike, so that errors are
  the same everywhere.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/
#include <errno.h>

PetscErrorCode DMBoxReadFile(MPI_Comm comm, const char who[], const char file[], char **data, PetscInt64 *size)
{
  PetscMPIInt rank;
  FILE       *f    = NULL;
  PetscInt64  n[2] = {-1, 0}; /* bytes, errno */

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (!rank) {
    errno = 0;
    f     = fopen(file, "rb");
    if (f) (void)fgetc(f); /* a folder can be opened, but not read */
    if (f && !ferror(f) && !fseek(f, 0, SEEK_END)) n[0] = (PetscInt64)ftell(f);
    n[1] = errno;
    if (f && n[0] < 0) (void)fclose(f);
  }
  PetscCallMPI(MPI_Bcast(n, 2, MPIU_INT64, 0, comm));
  PetscCheck(n[0] >= 0, comm, PETSC_ERR_FILE_OPEN, "%s cannot open %s: %s", who, file, strerror((int)n[1]));
  PetscCall(PetscMalloc1(n[0] + 1, data));
  if (!rank) {
    rewind(f);
    if (fread(*data, 1, (size_t)n[0], f) != (size_t)n[0]) n[1] = -1;
    else n[1] = 0;
    (void)fclose(f);
  }
  PetscCallMPI(MPI_Bcast(&n[1], 1, MPIU_INT64, 0, comm));
  PetscCheck(!n[1], comm, PETSC_ERR_FILE_READ, "%s cannot read the %" PetscInt64_FMT " bytes of %s", who, n[0], file);
  for (PetscInt64 first = 0; first < n[0]; first += 1 << 30)
    PetscCallMPI(MPI_Bcast(*data + first, (PetscMPIInt)PetscMin((PetscInt64)1 << 30, n[0] - first), MPI_BYTE, 0, comm));
  (*data)[n[0]] = 0;
  *size         = n[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the header of a legacy VTK file with a byte a cell: where its data begin, or an error */
static PetscErrorCode VoxelsParseVTK(DM dm, const char file[], const char *data, PetscInt64 *first)
{
  static const char *const wanted[] = {"BINARY", "DATASET STRUCTURED_POINTS", "DIMENSIONS ", "CELL_DATA ", "SCALARS ", "LOOKUP_TABLE "};
  const DM_Box            *box      = (const DM_Box *)dm->data;
  const MPI_Comm           comm     = PetscObjectComm((PetscObject)dm);
  const PetscInt64         cells    = (PetscInt64)box->cells[0] * box->cells[1] * box->cells[2];
  const char              *at       = data;
  char                     line[256], type[64] = "";
  long long                n[3] = {0, 0, 0}, given = 0, components = 1;
  PetscBool                same;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(wanted); i++) {
    at = strstr(at, wanted[i]);
    PetscCheck(at, comm, PETSC_ERR_FILE_UNEXPECTED,
               "%s is a VTK file without the line %s; DMBoxLoadVoxels() reads binary structured points with cell data of one unsigned_char",
               file, wanted[i]);
    PetscCall(PetscStrncpy(line, at, sizeof(line)));
    line[strcspn(line, "\r\n")] = 0;
    if (i == 2) (void)sscanf(line, "DIMENSIONS %lld %lld %lld", &n[0], &n[1], &n[2]);
    if (i == 3) (void)sscanf(line, "CELL_DATA %lld", &given);
    if (i == 4) (void)sscanf(line, "SCALARS %*s %63s %lld", type, &components);
  }
  for (PetscInt d = 0; d < 3; d++)
    PetscCheck(n[d] == (d < dm->dim ? box->cells[d] + 1 : 1), comm, PETSC_ERR_FILE_UNEXPECTED,
               "%s has %lld x %lld x %lld points; this DMBOX has %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
               " cells (-dm_box_cells), which need one point more in each of its %" PetscInt_FMT " directions",
               file, n[0], n[1], n[2], box->cells[0], box->cells[1], box->cells[2], dm->dim);
  PetscCheck(given == cells, comm, PETSC_ERR_FILE_UNEXPECTED,
             "%s has CELL_DATA for %lld cells; this DMBOX has %" PetscInt64_FMT " (-dm_box_cells)", file, given, cells);
  PetscCall(PetscStrcmp(type, "unsigned_char", &same));
  PetscCheck(same && components == 1, comm, PETSC_ERR_FILE_UNEXPECTED,
             "%s has scalars that are not of type unsigned_char with one component, but %s with %lld", file, type, components);
  at = strchr(at, '\n');
  PetscCheck(at, comm, PETSC_ERR_FILE_UNEXPECTED, "%s ends before its data", file);
  *first = at + 1 - data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  DMBoxLoadVoxels - Reads an image with a byte for each cell of a `DMBOX` from a file

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`, set up
- file - its name: bytes and nothing else, x fastest, or a VTK file of the legacy format, binary structured points with cell data of type
         unsigned_char

  Output Parameter:
. voxel - the image, all of it on each process, x fastest; to be freed with `PetscFree()`

  Level: beginner

  Note:
  The image must have as many voxels in each direction as the mesh has cells; otherwise there is an error. For a file without a
  header only the total number is checked.

.seealso: `DMBOX`, `DMBoxSetHeatVoxels()`, `DMBoxSetCells()`
@*/
PetscErrorCode DMBoxLoadVoxels(DM dm, const char file[], unsigned char *voxel[])
{
  DM_Box    *box;
  char      *data;
  PetscInt64 size, first = 0, cells;
  PetscBool  vtk;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContextSetUp(dm, &box));
  PetscAssertPointer(file, 2);
  PetscAssertPointer(voxel, 3);
  PetscCall(DMBoxReadFile(PetscObjectComm((PetscObject)dm), "DMBoxLoadVoxels()", file, &data, &size));
  PetscCall(PetscStrncmp(data, "# vtk DataFile", 14, &vtk));
  if (vtk) PetscCall(VoxelsParseVTK(dm, file, data, &first));
  cells = (PetscInt64)box->cells[0] * (PetscInt64)box->cells[1] * (PetscInt64)box->cells[2];
  PetscCheck(vtk ? size - first >= cells : size == cells, PetscObjectComm((PetscObject)dm), PETSC_ERR_FILE_UNEXPECTED,
             "%s has %" PetscInt64_FMT " bytes of voxels, but this DMBOX has %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
             " = %" PetscInt64_FMT " cells (-dm_box_cells)",
             file, size - first, box->cells[0], box->cells[1], box->cells[2], cells);
  PetscCall(PetscMalloc1(cells, voxel));
  PetscCall(PetscMemcpy(*voxel, data + first, (size_t)cells));
  PetscCall(PetscFree(data));
  PetscFunctionReturn(PETSC_SUCCESS);
}
