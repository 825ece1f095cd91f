/*
  The map of a DMBOX from the points of a structured grid in a file: VTK's XML format (.vts) with appended raw or with ascii data, as PETSc
  and so a DMBOX writes them, and its legacy format.  All ranks get the contents of the file and read them alike, so that errors are the
  same everywhere.

  The points are those of cells of some degree: DMSetUp() knows of how many, and so of which.
*/
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/options.h>
#include <petscbt.h>

/* a file, and what its numbers are like */
typedef struct {
  MPI_Comm    comm;
  const char *name, *text, *end; /* its contents */
  PetscBool   ascii, swap;
  PetscInt    size, header; /* bytes of a number; of the length of an array, which comes before it */
  PetscBT     placed;       /* the points that are known */
  PetscCount  nplaced;
} GridFile;

#define GridCheck(f, cond, ...) PetscCheck(cond, (f)->comm, PETSC_ERR_FILE_UNEXPECTED, __VA_ARGS__)

/* ------------------------------------------------ numbers ------------------------------------------------ */

/* n numbers from `at` on */
static PetscErrorCode GridReadReals(const GridFile *f, const char *at, PetscInt n, PetscReal x[])
{
  PetscInt read = n;

  PetscFunctionBegin;
  if (f->ascii) read = PatchFDHostParseReals(n, at, f->end, x);
  else {
    GridCheck(f, at >= f->text && at <= f->end && (PetscInt64)(f->end - at) >= (PetscInt64)n * f->size,
              "%s ends before the last of its %" PetscInt_FMT " coordinates", f->name, n);
    PatchFDHostBytesToReals(n, f->size, f->swap, at, x);
  }
  GridCheck(f, read == n, "%s has %" PetscInt_FMT " numbers where %" PetscInt_FMT " coordinates should be", f->name, read, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridSetType(GridFile *f, const char type[])
{
  PetscBool is64, is32;

  PetscFunctionBegin;
  PetscCall(PetscStrcmpAny(type, &is64, "Float64", "double", ""));
  PetscCall(PetscStrcmpAny(type, &is32, "Float32", "float", ""));
  GridCheck(f, is64 || is32, "%s has points of type %s; it must be Float32 or Float64, in the legacy format float or double", f->name,
            type);
  f->size = is64 ? 8 : 4;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the shape of all points, which has no lines yet.  No more of them than the file can hold: a coordinate takes two bytes or more, as "0 "
   does */
static PetscErrorCode GridCreateShape(GridFile *f, PetscInt dim, const PetscInt64 n[3], DMBoxShape **shape)
{
  const PetscReal all = (PetscReal)n[0] * (PetscReal)n[1] * (PetscReal)n[2];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++)
    GridCheck(f, d < dim ? n[d] > 1 : n[d] == 1,
              "%s has %" PetscInt64_FMT " x %" PetscInt64_FMT " x %" PetscInt64_FMT " points; a DMBOX with %" PetscInt_FMT
              " dimensions (-dm_box_dim) takes 2 or more in each of them, and 1 in others",
              f->name, n[0], n[1], n[2], dim);
  GridCheck(f, 6 * all <= (PetscReal)(f->end - f->text),
            "%s has %" PetscInt64_FMT " x %" PetscInt64_FMT " x %" PetscInt64_FMT " points, for which its %" PetscInt64_FMT
            " bytes have no room",
            f->name, n[0], n[1], n[2], (PetscInt64)(f->end - f->text));
  GridCheck(f, all < PETSC_INT_MAX / 3,
            "%s has %" PetscInt64_FMT " x %" PetscInt64_FMT " x %" PetscInt64_FMT " points: too many for %d-bit indices", f->name, n[0],
            n[1], n[2], (int)(8 * sizeof(PetscInt)));
  PetscCall(PetscNew(shape));
  (*shape)->refct = 1;
  (*shape)->dim   = dim;
  PetscCall(PetscStrallocpy(f->name, &(*shape)->file));
  for (PetscInt d = 0; d < 3; d++) (*shape)->nodes.box.n[d] = (PetscInt)n[d];
  PetscCall(PetscMalloc1((size_t)dim * PatchFDBoxSize(&(*shape)->nodes.box), &(*shape)->nodes.x));
  PetscCall(PetscBTCreate((PetscInt)PatchFDBoxSize(&(*shape)->nodes.box), &f->placed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the points of a range, x fastest, from `at` on */
static PetscErrorCode GridReadPoints(GridFile *f, const char *at, const PatchFDRange range, DMBoxShape *shape)
{
  const PetscInt n = 3 * (PetscInt)PatchFDRangeSize(range);
  PetscReal     *x;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &x));
  PetscCall(GridReadReals(f, at, n, x));
  f->nplaced += PatchFDHostPlacePoints(shape->dim, range, x, f->placed, &shape->nodes);
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ XML ------------------------------------------------ */

/* the value of an attribute of the tag that begins at `tag`, or `otherwise`, which NULL makes an error */
static PetscErrorCode XMLAttribute(const GridFile *f, const char *tag, const char name[], const char otherwise[], char value[64])
{
  const char *end = strchr(tag, '>'), *at;
  char        start[32];
  size_t      n;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(start, sizeof(start), " %s=\"", name));
  PetscCall(PetscStrlen(start, &n));
  at = strstr(tag, start);
  if (!end || !at || at > end) {
    GridCheck(f, otherwise, "%s: no %s in %.40s", f->name, name, tag);
    PetscCall(PetscStrncpy(value, otherwise, 64));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrncpy(value, at + n, 64));
  if (strchr(value, '"')) *strchr(value, '"') = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode XMLExtent(const GridFile *f, const char *tag, const char name[], PatchFDRange range)
{
  char      value[64];
  long long e[6];

  PetscFunctionBegin;
  PetscCall(XMLAttribute(f, tag, name, NULL, value));
  GridCheck(f, sscanf(value, "%lld %lld %lld %lld %lld %lld", &e[0], &e[1], &e[2], &e[3], &e[4], &e[5]) == 6,
            "%s: %s is \"%s\"; it must be six numbers", f->name, name, value);
  for (int d = 0; d < 3; d++) {
    GridCheck(f, e[2 * d] >= 0 && e[2 * d] <= e[2 * d + 1] && e[2 * d + 1] < INT_MAX,
              "%s: %s is \"%s\"; in each direction it must be two numbers that are not negative, the larger one last", f->name, name,
              value);
    range[d][0] = (PetscInt)e[2 * d];
    range[d][1] = (PetscInt)e[2 * d + 1] + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode XMLSetFormat(GridFile *f)
{
  const PetscInt one = 1;
  const char    *tag = strstr(f->text, "<VTKFile");
  char           type[64], order[64], header[64], compressor[64];
  PetscBool      grid, big, isint64;

  PetscFunctionBegin;
  GridCheck(f, tag, "%s is no VTK file: it begins neither with \"# vtk DataFile\" nor has it a tag VTKFile", f->name);
  PetscCall(XMLAttribute(f, tag, "type", "", type));
  PetscCall(PetscStrcmp(type, "StructuredGrid", &grid));
  GridCheck(f, grid, "%s is a VTK file of type %s; it must be StructuredGrid", f->name, type);
  PetscCall(XMLAttribute(f, tag, "compressor", "", compressor));
  GridCheck(f, !compressor[0], "%s is compressed (%s); it must not be", f->name, compressor);
  PetscCall(XMLAttribute(f, tag, "byte_order", "LittleEndian", order));
  PetscCall(XMLAttribute(f, tag, "header_type", "UInt32", header));
  PetscCall(PetscStrcmp(order, "BigEndian", &big));
  PetscCall(PetscStrcmp(header, "UInt64", &isint64));
  f->swap   = (PetscBool)(big == (PetscBool)(*(const char *)&one == 1));
  f->header = isint64 ? 8 : 4;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* where the numbers of a piece's points begin; next is the next piece, appended where offsets count from */
static PetscErrorCode XMLFindPoints(GridFile *f, const char *piece, const char *next, const char *appended, const char **at)
{
  const char *points = strstr(piece, "<Points"), *array = points ? strstr(points, "<DataArray") : NULL;
  char        type[64], components[64], format[64], offset[64];
  PetscBool   three, raw;

  PetscFunctionBegin;
  GridCheck(f, array && (!next || array < next), "%s has a piece without points", f->name);
  PetscCall(XMLAttribute(f, array, "type", NULL, type));
  PetscCall(GridSetType(f, type));
  PetscCall(XMLAttribute(f, array, "NumberOfComponents", "1", components));
  PetscCall(PetscStrcmp(components, "3", &three));
  GridCheck(f, three, "%s has points with %s coordinates; it must be 3", f->name, components);
  PetscCall(XMLAttribute(f, array, "format", "ascii", format));
  PetscCall(PetscStrcmp(format, "ascii", &f->ascii));
  PetscCall(PetscStrcmp(format, "appended", &raw));
  GridCheck(f, f->ascii || (raw && appended), "%s has points in the format %s; it must be ascii, or appended with the encoding raw",
            f->name, format);
  if (f->ascii) *at = strchr(array, '>') + 1;
  else {
    const long long room = (long long)(f->end - appended) - f->header;
    long long       skip;

    PetscCall(XMLAttribute(f, array, "offset", NULL, offset));
    skip = strtoll(offset, NULL, 10);
    GridCheck(f, skip >= 0 && skip <= room, "%s has points with the offset %s; %lld bytes of data are appended", f->name, offset,
              room + f->header);
    *at = appended + f->header + skip;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridReadXML(GridFile *f, PetscInt dim, DMBoxShape **shape)
{
  const char  *grid     = strstr(f->text, "<StructuredGrid"), *piece, *next;
  const char  *appended = strstr(f->text, "<AppendedData encoding=\"raw\">"); /* all zero bytes come after it */
  PatchFDRange whole;
  PetscInt64   n[3];

  PetscFunctionBegin;
  PetscCall(XMLSetFormat(f));
  GridCheck(f, grid, "%s has no tag StructuredGrid", f->name);
  PetscCall(XMLExtent(f, grid, "WholeExtent", whole));
  for (int d = 0; d < 3; d++) n[d] = (PetscInt64)whole[d][1] - whole[d][0];
  PetscCall(GridCreateShape(f, dim, n, shape));
  for (int d = 0; d < 3; d++) (*shape)->nodes.box.lo[d] = whole[d][0]; /* for the numbers that pieces have */
  if (appended) appended = strchr(appended, '_');
  if (appended) appended++;
  for (piece = strstr(grid, "<Piece"); piece; piece = next) {
    PatchFDRange range;
    const char  *at = NULL;

    next = strstr(piece + 1, "<Piece");

    PetscCall(XMLExtent(f, piece, "Extent", range));
    for (int d = 0; d < 3; d++)
      GridCheck(f, range[d][0] >= whole[d][0] && range[d][1] <= whole[d][1],
                "%s has a piece with points %" PetscInt_FMT " to %" PetscInt_FMT " in direction %d; there are %" PetscInt_FMT
                " to %" PetscInt_FMT,
                f->name, range[d][0], range[d][1] - 1, d, whole[d][0], whole[d][1] - 1);
    PetscCall(XMLFindPoints(f, piece, next, appended, &at));
    PetscCall(GridReadPoints(f, at, (const PetscInt(*)[2])range, *shape));
  }
  for (int d = 0; d < 3; d++) (*shape)->nodes.box.lo[d] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ the legacy format ------------------------------------------------ */

static PetscErrorCode GridReadLegacy(GridFile *f, PetscInt dim, DMBoxShape **shape)
{
  const PetscInt one    = 1;
  const char    *format = strchr(f->text, '\n'), *dataset, *dimensions, *points, *at;
  PetscBool      ascii, binary;
  PatchFDRange   all;
  PetscInt64     n[3];
  long long      m[4] = {0, 0, 0, 0};
  char           type[64];

  PetscFunctionBegin;
  for (int line = 0; line < 1 && format; line++) format = strchr(format + 1, '\n'); /* the third one */
  GridCheck(f, format, "%s ends before its data", f->name);
  PetscCall(PetscStrncmp(format + 1, "ASCII", 5, &ascii));
  PetscCall(PetscStrncmp(format + 1, "BINARY", 6, &binary));
  GridCheck(f, ascii || binary, "%s is of a format that is neither ASCII nor BINARY", f->name);
  dataset    = strstr(format, "DATASET STRUCTURED_GRID");
  dimensions = dataset ? strstr(dataset, "DIMENSIONS ") : NULL;
  points     = dimensions ? strstr(dimensions, "POINTS ") : NULL;
  at         = points ? strchr(points, '\n') : NULL;
  GridCheck(f, at, "%s is a VTK file without the lines DATASET STRUCTURED_GRID, DIMENSIONS and POINTS", f->name);
  GridCheck(f,
            sscanf(dimensions, "DIMENSIONS %lld %lld %lld", &m[0], &m[1], &m[2]) == 3 &&
              sscanf(points, "POINTS %lld %63s", &m[3], type) == 2 && (double)m[3] == (double)m[0] * (double)m[1] * (double)m[2],
            "%s has %lld points for dimensions %lld x %lld x %lld", f->name, m[3], m[0], m[1], m[2]);
  for (int d = 0; d < 3; d++) n[d] = m[d];
  PetscCall(GridSetType(f, type));
  f->ascii = ascii;
  f->swap  = (PetscBool)(*(const char *)&one == 1);
  PetscCall(GridCreateShape(f, dim, n, shape));
  for (int d = 0; d < 3; d++) {
    all[d][0] = 0;
    all[d][1] = (PetscInt)n[d];
  }
  PetscCall(GridReadPoints(f, at + 1, (const PetscInt(*)[2])all, *shape));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ the map ------------------------------------------------ */

/*@
  DMBoxSetMappingFile - Sets the map from the box of a `DMBOX` to space, by the points of a structured grid in a file

  Collective

  Input Parameters:
+ dm   - the `DM` of type `DMBOX`
- file - its name: a VTK file, .vts with appended raw or ascii data, as `VecView()` of a `DMBOX` writes them, or of the legacy format
         (STRUCTURED_GRID, ASCII or BINARY)

  Options Database Key:
. -dm_box_mapping_file file - the file

  Level: intermediate

  Notes:
  The points are nodes of the cells of `DMBoxSetCells()` (`-dm_box_cells`). With n cells the file has g n + 1 points in each
  direction, and the images of cells are polynomials of degree g. With g = 1 the points are the corners of the cells. With g > 1
  they are the images of the Gauss-Lobatto nodes of degree g, as in files that `VecView()` writes for a `DMBOX` of degree g.

  The degree of the space may differ from g. Its nodes, and those of finer meshes (`-dm_refine`, `DMRefine()`), come from these
  polynomials.

  Each process reads all points. Call it after `DMSetDimension()` and before `DMSetUp()`, which compares the number of cells with
  that of the points.

.seealso: `DMBOX`, `DMBoxSetMapping()`, `DMBoxSetMappingType()`, `DMBoxSetMappingCoordinates()`, `DMBoxSetCells()`
@*/
PetscErrorCode DMBoxSetMappingFile(DM dm, const char file[])
{
  GridFile    f     = {.comm = PetscObjectComm((PetscObject)dm), .name = file};
  DMBoxShape *shape = NULL;
  DM_Box     *box;
  char       *text;
  PetscInt64  size;
  PetscBool   legacy;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  PetscAssertPointer(file, 2);
  PetscCheck(!dm->setupcalled, f.comm, PETSC_ERR_ARG_WRONGSTATE, "DMBoxSetMappingFile() must be called before DMSetUp()");
  PetscCall(DMBoxReadFile(f.comm, "-dm_box_mapping_file (DMBoxSetMappingFile())", file, &text, &size));
  f.text = text;
  f.end  = text + size;
  PetscCall(PetscStrncmp(text, "# vtk DataFile", 14, &legacy));
  if (legacy) PetscCall(GridReadLegacy(&f, dm->dim, &shape));
  else PetscCall(GridReadXML(&f, dm->dim, &shape));
  GridCheck(&f, f.nplaced == (PetscCount)PatchFDBoxSize(&shape->nodes.box),
            "%s has %" PetscCount_FMT " of its %" PetscCount_FMT " points, as finite coordinates", f.name, f.nplaced,
            (PetscCount)PatchFDBoxSize(&shape->nodes.box));
  PetscCall(PetscBTDestroy(&f.placed));
  PetscCall(PetscFree(text));
  PetscCall(DMBoxSetMapping(dm, NULL, NULL));
  box->mapfrom = shape;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxSetUpMappingFile(DM dm)
{
  DM_Box     *box = (DM_Box *)dm->data;
  DMBoxShape *raw = box->mapfrom, *shape;
  PetscInt    n[3], g;
  PetscBool   fits = PETSC_TRUE;

  PetscFunctionBegin;
  if (!raw || raw->line[0].nnodes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArraycpy(n, raw->nodes.box.n, 3));
  g = (n[0] - 1) / box->cells[0];
  for (PetscInt d = 0; d < dm->dim; d++) fits = (PetscBool)(fits && g > 0 && n[d] == (PetscInt64)g * box->cells[d] + 1);
  PetscCheck(fits, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "%s (-dm_box_mapping_file, DMBoxSetMappingFile()) has %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " points, "
             "and this DMBOX has, before -dm_refine, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
             " cells (-dm_box_cells): in each direction there must be g times as many points as cells, and one more, g = 1, 2, ... the "
             "degree of their images",
             raw->file, n[0], n[1], n[2], box->cells[0], box->cells[1], dm->dim > 2 ? box->cells[2] : 1);
  PetscCall(PetscNew(&shape)); /* a clone may have the other one, and other cells */
  shape->refct     = 1;
  shape->dim       = dm->dim;
  shape->nodes.box = raw->nodes.box;
  PetscCall(PetscMalloc1((size_t)dm->dim * PatchFDBoxSize(&raw->nodes.box), &shape->nodes.x));
  PetscCall(PetscArraycpy(shape->nodes.x, raw->nodes.x, (size_t)dm->dim * PatchFDBoxSize(&raw->nodes.box)));
  for (PetscInt d = 0; d < 3; d++) {
    const PetscReal unit[2] = {0, 1};
    const PetscBool free[2] = {PETSC_FALSE, PETSC_FALSE};

    if (d < dm->dim) PetscCall(DMBoxCreateLine(dm, PATCHFD_CONTINUOUS, g, d, &shape->line[d]));
    else PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, 0, 1, unit, free, &shape->line[d]));
  }
  PetscCall(DMBoxShapeDestroy(&raw));
  box->mapfrom = shape;
  if (g == 1) box->mapdegree = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxOptionsMapping(DM dm, PatchFDOptionItems PetscOptionsObject)
{
  DM_Box          *box       = (DM_Box *)dm->data;
  DMBoxMappingType type      = box->maptype;
  PetscReal        parameter = box->mapparameter;
  PetscInt         degree    = box->mapdegree;
  char             file[PETSC_MAX_PATH_LEN];
  PetscBool        flg, flgs[2];

  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum("-dm_box_mapping", "The image of the box", "DMBoxSetMappingType", DMBoxMappingTypes, (PetscEnum)type,
                             (PetscEnum *)&type, &flgs[0]));
  if (flgs[0]) parameter = DMBoxMappingParameters[type];
  PetscCall(PetscOptionsReal("-dm_box_mapping_parameter", "Parameter of the map", "DMBoxSetMappingType", parameter, &parameter, &flgs[1]));
  PetscCheck(!flgs[1] || type != DMBOX_MAPPING_NONE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "-dm_box_mapping_parameter is for maps with a name: -dm_box_mapping is none");
  if (flgs[0] || flgs[1]) PetscCall(DMBoxSetMappingType(dm, type, parameter));
  PatchFDOptions(Int, PatchFDOptionsWord((PetscReal)degree), "-dm_box_mapping_degree",
                 "Degree of the images of cells, 1 or that of the space", "DMBoxSetMappingDegree", degree, &degree, &flg);
  if (flg) PetscCall(DMBoxSetMappingDegree(dm, degree));
  PatchFDOptions(String, "none", "-dm_box_mapping_file", "A structured grid whose points are those of the box in space",
                 "DMBoxSetMappingFile", NULL, file, sizeof(file), &flg);
  PetscCheck(!flg || !flgs[0] || type == DMBOX_MAPPING_NONE, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "-dm_box_mapping %s and -dm_box_mapping_file %s: a DMBOX has one map", DMBoxMappingTypes[type], file);
  if (flg) PetscCall(DMBoxSetMappingFile(dm, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}
