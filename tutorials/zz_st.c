static char help[]="";
#include <petscpatchfd.h>
static PetscErrorCode Residual(Mat A, Vec b, Vec x, PetscReal *r){Vec t;PetscFunctionBeginUser;PetscCall(VecDuplicate(b,&t));PetscCall(MatMult(A,x,t));PetscCall(VecAYPX(t,-1,b));PetscCall(VecNorm(t,NORM_2,r));PetscCall(VecDestroy(&t));PetscFunctionReturn(0);}
int main(int argc,char**argv){
  DM dm;Mat A,B;Vec x,b,y,z;PetscRandom rnd;PetscReal n1,n2;KSP ksp;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc,&argv,NULL,help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(DMCreate(PETSC_COMM_WORLD,&dm));PetscCall(DMSetType(dm,DMBOX));
  PetscCall(DMBoxSetSpace(dm,DMBOX_RT));PetscCall(DMBoxSetOperator(dm,"stokes"));
  PetscCall(DMSetFromOptions(dm));PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm,&A));
  PetscCall(MatCreateVecs(A,&x,&b));PetscCall(VecDuplicate(x,&y));PetscCall(VecDuplicate(x,&z));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD,&rnd));
  PetscCall(VecSetRandom(x,rnd));
  PetscCall(MatConvert(A,MATAIJ,MAT_INITIAL_MATRIX,&B));
  PetscCall(MatMult(A,x,y));PetscCall(MatMult(B,x,z));PetscCall(VecNorm(y,NORM_2,&n1));PetscCall(VecAXPY(z,-1,y));PetscCall(VecNorm(z,NORM_2,&n2));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,"operator %g diff %g\n",n1,n2));
  {PetscBool s;PetscCall(MatIsSymmetric(B,1e-10,&s));PetscCall(PetscPrintf(PETSC_COMM_WORLD,"symmetric %d\n",s));}
  {MatNullSpace ns;PetscBool t=PETSC_TRUE;PetscCall(MatGetNullSpace(A,&ns));if(ns)PetscCall(MatNullSpaceTest(ns,A,&t));PetscCall(PetscPrintf(PETSC_COMM_WORLD,"nullspace %d %d\n",!!ns,t));}
  PetscCall(KSPCreate(PETSC_COMM_WORLD,&ksp));PetscCall(KSPSetDM(ksp,dm));PetscCall(KSPSetDMActive(ksp,KSP_DMACTIVE_ALL,PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp,A,A));PetscCall(KSPSetType(ksp,KSPFGMRES));PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatMult(A,x,b));PetscCall(VecSet(x,0));
  PetscCall(KSPSolve(ksp,b,x));PetscCall(Residual(A,b,x,&n1));PetscCall(VecNorm(b,NORM_2,&n2));
  {PetscInt its;PetscCall(KSPGetIterationNumber(ksp,&its));PetscCall(PetscPrintf(PETSC_COMM_WORLD,"its %d true residual %g\n",(int)its,n1/n2));}
  PetscCall(KSPDestroy(&ksp));PetscCall(MatDestroy(&A));PetscCall(MatDestroy(&B));PetscCall(VecDestroy(&x));PetscCall(VecDestroy(&y));PetscCall(VecDestroy(&z));PetscCall(VecDestroy(&b));PetscCall(DMDestroy(&dm));PetscCall(PetscRandomDestroy(&rnd));
  PetscCall(PetscFinalize());return 0;}
