/* the host kernel table of one precision; the including file defines REAL, GEMM, BRICKS, TABLE, HALO_TABLE, BOX_TABLE, TABLE_NAME, TABLE_ID
   and TABLE_TYPE */
#pragma once
#if defined(PATCHFD_LEVEL) /* one of several: levels.c */
  #define PASTE(table, level)          table##_##level
  #define TABLE_OF_LEVEL(table, level) PASTE(table, level)
  #define NAME(table)                  TABLE_OF_LEVEL(table, PATCHFD_LEVEL)
#else
  #define NAME(table) table
#endif
#include "lines.h"
#include "grid.h"
#include "operator.h"
#include "lattice.h"
#include "transfer.h"
#include "local.h"
#include "fitexact.h"
#include "bricks.h"
#include "cells.h"
#include "boxsolve.h"
#include "cg.h"
#include "halo.h"

static MPI_Datatype TableType(void)
{
  return TABLE_TYPE;
}

const struct _PatchFDKernels NAME(TABLE) = {
  .name             = TABLE_NAME,
  .size             = sizeof(REAL),
  .memtype          = PETSC_MEMTYPE_HOST,
  .datatype         = TableType,
  .id               = TABLE_ID,
  .malloc           = GridMalloc,
  .free             = GridFree,
  .zero             = GridZero,
  .multiply         = GridMultiply,
  .copy             = GridCopy,
  .fixed            = GridFixed,
  .operatorcreate   = OperatorCreate,
  .operatorapply    = OperatorApply,
  .operatorresidual = OperatorResidual,
  .operatordiagonal = OperatorDiagonal,
  .operatorpick     = OperatorPick,
  .operatordestroy  = OperatorDestroy,
  .latticecreate    = LatticeCreate,
  .latticeapply     = LatticeApply,
  .latticediagonal  = LatticeDiagonal,
  .latticesweep     = LatticeSweep,
  .latticedestroy   = LatticeDestroy,
  .transfercreate   = TransferCreate,
  .transferprolong  = TransferProlong,
  .transferrestrict = TransferRestrict,
  .transferdestroy  = TransferDestroy,
  .localrings       = LocalRings,
  .localcreate      = LocalCreate,
  .localapply       = LocalApply,
  .localdestroy     = LocalDestroy,
  .pointsrestrict   = PatchFDHostRestrict,
  .pointscontrast   = PatchFDHostContrast,
  .pointsmetric     = PatchFDHostMetric,
  .cellmatrices     = OperatorCellMatrices,
  .stresses         = OperatorStresses,
  .invert           = PatchFDHostInvert,
  .fitcreate        = FitCreate,
  .fitgroups        = FitGroups,
  .fitapply         = FitApply,
  .fitwork          = FitWork,
  .fitcg            = FitCG,
  .fitsteps         = FitSteps,
  .fitexact         = FitExact,
  .fitfused         = FitFused,
  .fitdestroy       = FitDestroy,
  .cellscreate      = CellsCreate,
  .cellssides       = CellsSides,
  .cellscount       = CellsCount,
  .cellsfinish      = CellsFinish,
  .cellsapply       = CellsApply,
  .cellsnoise       = CellsNoise,
  .cellsdestroy     = CellsDestroy,
  .cgcreate         = CGCreate,
  .cgdestroy        = CGDestroy,
  .cgstate          = CGState,
  .cgput            = CGPut,
  .cgget            = CGGet,
  .cgdirection      = CGDirection,
  .cgproduct        = CGProduct,
  .cgadvance        = CGAdvance,
  .cgsums           = CGSums,
};

const struct _PatchFDHaloKernels NAME(HALO_TABLE) = {
  .create  = HaloCreate,
  .destroy = HaloDestroy,
  .pack    = HaloPack,
  .unpack  = HaloUnpack,
  .buffers = HaloBuffers,
};

const struct _PatchFDBoxKernels NAME(BOX_TABLE) = {
  .create    = BoxSolveCreate,
  .destroy   = BoxSolveDestroy,
  .fold      = BoxSolveFold,
  .unfold    = BoxSolveUnfold,
  .product   = BoxSolveProduct,
  .ends      = BoxSolveEnds,
  .join      = BoxSolveJoin,
  .divide    = BoxSolveDivide,
  .eliminate = BoxSolveEliminate,
};
