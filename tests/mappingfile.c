static char help[] = "Maps of a DMBOX from files: nodes where a function has them, which files of several formats have the values of.\n\
  -format <name>    : vts, as a DMBOX writes it, or corners of cells in the formats ascii, binary or float of VTK's legacy files, or xml \
with numbers as text\n\
  -file_degree <k>  : of the DMBOX that writes vts (default 3)\n\
  -errors           : bad input\n\n";

#include <petscpatchfd.h>
#include <petscviewer.h>
#include "catch.h"
#include <stdio.h>
#include "runtest.h"

#define NAME "mappingfile_test.vts"

/* of degree 2 in each coordinate: cells of degree 2 and more are these images exactly */
static PetscErrorCode Position(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal t[], PETSC_UNUSED PetscInt Nc, PetscScalar y[],
                               PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) y[d] = t[d] + 0.15 * t[(d + 1) % dim] * t[(d + 1) % dim] + 0.1 * t[0] * t[0] * (dim - d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscInt degree, const char operator[], DM *dm)
{
  const PetscInt cells[3] = {4, 3, 2};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, degree, dm));
  PetscCall(DMBoxSetOperator(*dm, operator));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- writers ---- */

static PetscErrorCode WriteBox(PetscInt dim, PetscInt degree)
{
  DM          dm;
  Vec         u;
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCall(Create(degree, "diffusion", &dm));
  PetscCall(DMSetDimension(dm, dim));
  PetscCall(DMBoxSetMapping(dm, Position, NULL));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecSet(u, 1));
  PetscCall(PetscObjectSetName((PetscObject)u, "u"));
  PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, NAME, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(u, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void PutBytes(FILE *fp, PetscReal value, PetscBool isfloat)
{
  const double d = value;
  const float  s = (float)value;
  const char  *c = isfloat ? (const char *)&s : (const char *)&d;

  for (int b = (isfloat ? 4 : 8) - 1; b >= 0; b--) fputc(c[b], fp); /* big-endian, on this little-endian machine */
}

/* the corners of the cells of Create() */
static PetscErrorCode WriteCorners(const char format[], PetscInt dim)
{
  const PetscInt n[3] = {5, 4, dim == 3 ? 3 : 1};
  FILE          *fp   = fopen(NAME, "wb");
  PetscBool      xml, text, isfloat;

  PetscFunctionBeginUser;
  PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", NAME);
  PetscCall(PetscStrcmp(format, "xml", &xml));
  PetscCall(PetscStrcmpAny(format, &text, "xml", "ascii", ""));
  PetscCall(PetscStrcmp(format, "float", &isfloat));
  if (xml)
    fprintf(fp,
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"StructuredGrid\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
            "<StructuredGrid WholeExtent=\"1 %d 2 %d 3 %d\">\n<Piece Extent=\"1 %d 2 %d 3 %d\">\n<Points>\n"
            "<DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">\n",
            (int)n[0], (int)n[1] + 1, (int)n[2] + 2, (int)n[0], (int)n[1] + 1, (int)n[2] + 2);
  else
    fprintf(fp, "# vtk DataFile Version 3.0\ncorners\n%s\nDATASET STRUCTURED_GRID\nDIMENSIONS %d %d %d\nPOINTS %d %s\n",
            text ? "ASCII" : "BINARY", (int)n[0], (int)n[1], (int)n[2], (int)(n[0] * n[1] * n[2]), isfloat ? "float" : "double");
  for (PetscInt p = 0; p < n[0] * n[1] * n[2]; p++) {
    const PetscReal t[3] = {(PetscReal)(p % n[0]) / 4, (PetscReal)(p / n[0] % n[1]) / 3, (PetscReal)(p / n[0] / n[1]) / 2};
    PetscScalar     y[3] = {0, 0, 0};

    PetscCall(Position(dim, 0, t, dim, y, NULL));
    for (int a = 0; a < 3; a++) {
      if (text) fprintf(fp, "%.17g%c", (double)PetscRealPart(y[a]), a == 2 ? '\n' : ' ');
      else PutBytes(fp, PetscRealPart(y[a]), isfloat);
    }
  }
  if (xml) fprintf(fp, "</DataArray>\n</Points>\n</Piece>\n</StructuredGrid>\n</VTKFile>\n");
  fclose(fp);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Write(const char format[], PetscInt degree)
{
  PetscMPIInt rank;
  PetscInt    dim = 2;
  PetscBool   vts;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(format, "vts", &vts));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dm_box_dim", &dim, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (vts) PetscCall(WriteBox(dim, degree));
  else if (!rank) PetscCall(WriteCorners(format, dim));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tests ---- */

static PetscErrorCode Compare(const char what[], DM a, DM b, PetscReal tolerance)
{
  Vec       xa, xb, d;
  PetscReal error;

  PetscFunctionBeginUser;
  PetscCall(DMGetCoordinates(a, &xa));
  PetscCall(DMGetCoordinates(b, &xb));
  PetscCall(VecDuplicate(xa, &d));
  PetscCall(VecWAXPY(d, -1, xa, xb));
  PetscCall(VecNorm(d, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, error <= tolerance ? "yes" : "NO"));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the mesh, a clone made before set-up, and the finer mesh, from the file and from the function */
static PetscErrorCode TestFile(const char format[])
{
  PetscBool isfloat, vts;
  PetscReal tolerance = 1e-13;
  DM        dm[2], clone, fine[2];

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(format, "float", &isfloat));
  PetscCall(PetscStrcmp(format, "vts", &vts));
  if (isfloat) tolerance = 1e-6;
  for (int i = 0; i < 2; i++) {
    PetscCall(Create(2, "diffusion", &dm[i]));
    if (i) PetscCall(PetscOptionsSetValue(NULL, "-dm_box_mapping_file", NAME));
    PetscCall(DMSetFromOptions(dm[i]));
    if (!i) {
      PetscCall(DMBoxSetMapping(dm[i], Position, NULL));
      if (!vts) PetscCall(DMBoxSetMappingDegree(dm[i], 1));
    }
  }
  PetscCall(DMClone(dm[1], &clone));
  for (int i = 0; i < 2; i++) PetscCall(DMSetUp(dm[i]));
  PetscCall(DMSetUp(clone));
  PetscCall(Compare("nodes", dm[0], dm[1], tolerance));
  PetscCall(Compare("nodes of a clone", dm[0], clone, tolerance));
  for (int i = 0; i < 2; i++) PetscCall(DMRefine(dm[i], PETSC_COMM_WORLD, &fine[i]));
  if (vts) PetscCall(Compare("nodes of the finer mesh", fine[0], fine[1], tolerance));
  for (int i = 0; i < 2; i++) {
    PetscCall(DMDestroy(&dm[i]));
    PetscCall(DMDestroy(&fine[i]));
  }
  PetscCall(DMDestroy(&clone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Expect(const char what[], const char text[], const char operator[], const PetscInt cells[2])
{
  DM             dm;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  if (text) {
    FILE *fp = fopen(NAME, "wb");

    PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", NAME);
    fputs(text, fp);
    fclose(fp);
  }
  PetscCall(Create(2, operator, & dm));
  if (cells) PetscCall(DMBoxSetCells(dm, cells));
  CATCH(ierr, DMBoxSetMappingFile(dm, NAME));
  if (!ierr) CATCH(ierr, DMSetUp(dm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, ierr ? lastmessage : "NO error"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(void)
{
#define XML(attributes, extent, piece, array) \
  "<?xml version=\"1.0\"?>\n<VTKFile " attributes ">\n<StructuredGrid WholeExtent=\"" extent "\">\n<Piece Extent=\"" piece \
  "\">\n<Points>\n" \
  "<DataArray " array ">\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n</DataArray>\n</Points>\n"
#define PIECE(extent, x) \
  "<Piece Extent=\"" extent "\">\n<Points>\n<DataArray " POINTS ">\n0 0 0\n" x " 0 0\n0 1 0\n" x " 1 " \
  "0\n</DataArray>\n</Points>\n</Piece>\n"
#define PIECES(pieces) \
  "<?xml version=\"1.0\"?>\n<VTKFile " GRID ">\n<StructuredGrid WholeExtent=\"0 2 0 1 0 0\">\n" pieces "</StructuredGrid>\n</VTKFile>\n"
#define GRID   "type=\"StructuredGrid\""
#define POINTS "type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\""
#define LEGACY(format, dataset, dimensions, points) \
  "# vtk DataFile Version 3.0\nx\n" format "\nDATASET " dataset "\nDIMENSIONS " dimensions "\nPOINTS " points \
  "\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n"
  const PetscInt cells[2] = {3, 2}, one[2] = {1, 1};
  DM             dm;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  (void)remove(NAME);
  PetscCall(Expect("no file", NULL, "diffusion", NULL));
  PetscCall(Expect("another file", "hello\n", "diffusion", NULL));
  PetscCall(Expect("another grid", XML("type=\"ImageData\"", "0 1 0 1 0 0", "0 1 0 1 0 0", POINTS), "diffusion", NULL));
  PetscCall(
    Expect("compressed", XML(GRID " compressor=\"vtkZLibDataCompressor\"", "0 1 0 1 0 0", "0 1 0 1 0 0", POINTS), "diffusion", NULL));
  PetscCall(Expect("an extent", XML(GRID, "0 1 0 1", "0 1 0 1 0 0", POINTS), "diffusion", NULL));
  PetscCall(Expect("an extent that ends before it begins", XML(GRID, "1 0 0 1 0 0", "0 1 0 1 0 0", POINTS), "diffusion", NULL));
  PetscCall(
    Expect("an offset",
           XML(GRID, "0 1 0 1 0 0", "0 1 0 1 0 0",
               "type=\"Float64\" NumberOfComponents=\"3\" format=\"appended\" offset=\"-1000000\"") "<AppendedData encoding=\"raw\">\n_",
           "diffusion", NULL));
  PetscCall(Expect("a piece outside", XML(GRID, "0 1 0 1 0 0", "0 2 0 1 0 0", POINTS), "diffusion", NULL));
  PetscCall(Expect("a missing piece", XML(GRID, "0 2 0 1 0 0", "0 1 0 1 0 0", POINTS), "diffusion", NULL));
  PetscCall(Expect("a piece twice", PIECES(PIECE("0 1 0 1 0 0", "1") PIECE("0 1 0 1 0 0", "1")), "diffusion", NULL));
  PetscCall(Expect("a piece with the points of the next one",
                   PIECES("<Piece Extent=\"0 1 0 1 0 0\">\n</Piece>\n" PIECE("1 2 0 1 0 0", "1")), "diffusion", NULL));
  PetscCall(Expect("coordinates that are no numbers", PIECES(PIECE("0 1 0 1 0 0", "1") PIECE("1 2 0 1 0 0", "nan")), "diffusion", NULL));
  PetscCall(Expect("more points than the file has room for", XML(GRID, "0 30000 0 20000 0 0", "0 1 0 1 0 0", POINTS), "diffusion", NULL));
  PetscCall(Expect("more bytes than a size_t counts",
                   LEGACY("ASCII", "STRUCTURED_GRID", "2147483648 1073741824 1", "2305843009213693952 double"), "diffusion", NULL));
  PetscCall(Expect("more points than a long long counts", LEGACY("ASCII", "STRUCTURED_GRID", "4294967296 4294967296 1", "0 double"),
                   "diffusion", NULL));
  PetscCall(Expect("integers", XML(GRID, "0 1 0 1 0 0", "0 1 0 1 0 0", "type=\"Int32\" NumberOfComponents=\"3\" format=\"ascii\""),
                   "diffusion", NULL));
  PetscCall(Expect("two coordinates", XML(GRID, "0 1 0 1 0 0", "0 1 0 1 0 0", "type=\"Float64\" NumberOfComponents=\"2\" format=\"ascii\""),
                   "diffusion", NULL));
  PetscCall(Expect("base64", XML(GRID, "0 1 0 1 0 0", "0 1 0 1 0 0", "type=\"Float64\" NumberOfComponents=\"3\" format=\"binary\""),
                   "diffusion", NULL));
  PetscCall(Expect("a file cut off", XML(GRID, "0 1 0 2 0 0", "0 1 0 2 0 0", POINTS), "diffusion", NULL));
  PetscCall(Expect("three dimensions", XML(GRID, "0 1 0 0 0 1", "0 1 0 0 0 1", POINTS), "diffusion", NULL));
  PetscCall(Expect("a legacy format", LEGACY("HEX", "STRUCTURED_GRID", "2 2 1", "4 double"), "diffusion", NULL));
  PetscCall(Expect("a legacy grid", LEGACY("ASCII", "STRUCTURED_POINTS", "2 2 1", "4 double"), "diffusion", NULL));
  PetscCall(Expect("a legacy number of points", LEGACY("ASCII", "STRUCTURED_GRID", "2 2 1", "5 double"), "diffusion", NULL));
  PetscCall(Expect("a legacy file cut off", LEGACY("BINARY", "STRUCTURED_GRID", "2 2 1", "4 double"), "diffusion", NULL));
  PetscCall(Expect("another number of cells", XML(GRID, "0 1 0 1 0 0", "0 1 0 1 0 0", POINTS), "diffusion", cells));
  PetscCall(Expect("another operator", XML(GRID, "0 1 0 1 0 0", "0 1 0 1 0 0", POINTS), "poisson", one));
  PetscCall(PetscOptionsSetValue(NULL, "-dm_box_mapping_file", NAME));
  PetscCall(PetscOptionsSetValue(NULL, "-dm_box_mapping", "sine"));
  PetscCall(Create(2, "diffusion", &dm));
  CATCH(ierr, DMSetFromOptions(dm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "two maps: %s\n", ierr ? lastmessage : "NO error"));
  PetscCall(Expect("an inverted cell",
                   "# vtk DataFile Version 3.0\nx\nASCII\nDATASET STRUCTURED_GRID\nDIMENSIONS 2 2 1\nPOINTS 4 double\n0 0 0\n1 0 0\n0 -1 "
                   "0\n1 -1 0\n",
                   "diffusion", one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  char      format[16] = "vts";
  PetscInt  degree     = 3;
  PetscBool errors     = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-format", format, sizeof(format), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-file_degree", &degree, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-errors", &errors, NULL));
  if (errors) PetscCall(TestErrors());
  else {
    PetscCall(Write(format, degree));
    PetscCall(TestFile(format));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST

  testset:
    nsize: {{1 3}}
    output_file: output/mappingfile_vts.out
    test:
      suffix: vts
      args: -each_dm_box_degree 2:3:5
    test:
      suffix: vts_3d
      args: -dm_box_dim 3 -file_degree 2 -each_dm_box_degree 2:4 -each_dm_refine 0:1
  testset:
    args: -each_format ascii:binary:float:xml
    output_file: output/mappingfile_corners.out
    test:
      suffix: corners
      nsize: {{1 2}}
    test:
      suffix: corners_3d
      args: -dm_box_dim 3 -dm_box_degree 3
  test:
    suffix: errors
    args: -errors -malloc_dump 0

TEST*/
