import config.package


class Configure(config.package.Package):
  def __init__(self, framework):
    config.package.Package.__init__(self, framework)
    self.version         = '@VERSION@'
    self.download        = ['https://files.pythonhosted.org/packages/source/p/patchfd/patchfd-' + self.version + '.tar.gz']
    self.functions       = []
    self.includes        = []
    self.providesDocs    = 1
    self.docsDirs        = ['src', 'include']
    self.precisions      = ['double']
    self.complex         = 0
    self.linkedbypetsc   = 0
    self.builtafterpetsc = 1
    self.useddirectly    = 0
    self.skippackagewithoptions = 1

  def setupDependencies(self, framework):
    config.package.Package.setupDependencies(self, framework)
    self.setCompilers    = framework.require('config.setCompilers', self)
    self.sharedLibraries = framework.require('PETSc.options.sharedLibraries', self)
    self.blasLapack      = framework.require('config.packages.BlasLapack', self)
    self.mpi             = framework.require('config.packages.MPI', self)
    self.cuda            = framework.require('config.packages.CUDA', self)
    self.deps            = [self.blasLapack, self.mpi]
    self.odeps           = [self.cuda]

  def Install(self):
    import os
    if not self.checkSharedLibrariesEnabled():
      raise RuntimeError('libpatchfd is a shared library and needs those of PETSc: remove --with-shared-libraries=0')
    if self.argDB['prefix'] and not 'package-prefix-hash' in self.argDB:
      prefix = os.path.abspath(os.path.expanduser(self.argDB['prefix']))
      barg   = 'PETSC_DIR=' + prefix + ' PETSC_ARCH='
    else:
      prefix = os.path.join(self.petscdir.dir, self.arch)
      barg   = 'PETSC_DIR=' + self.petscdir.dir + ' PETSC_ARCH=' + self.arch
    libdir = os.path.join(prefix, 'lib')
    barg  += ' PREFIX=' + prefix
    self.include = [os.path.join(prefix, 'include')]
    self.lib     = [os.path.join(libdir, 'libpatchfd.' + self.setCompilers.sharedLibraryExt)]
    # PETSc loads libraries named libpetsc... beside its own by itself, so that every program has the solvers
    self.addPost(self.packageDir, ['${OMAKE} ' + barg + ' all install',
                                   'cd ' + libdir + ' && ln -sf libpatchfd.{0} libpetscpatchfd.{0}'.format(self.setCompilers.sharedLibraryExt)])
    self.addMakeCheck(self.packageDir, '${OMAKE} ' + barg + ' check')
    return self.installDir
