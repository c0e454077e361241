# shellcheck shell=bash disable=SC2034 # sourced by the job scripts
# site.example.sh: a cluster's own settings. Copy it to jobs/site.sh and keep the lines that you need; the job scripts
# source that file where it is there. It is yours: git ignores it.

# The modules that the program was built with. `module` is not there on every system, so ask first.
if command -v module >/dev/null; then
    module load gcc openmpi hdf5
fi

# How ranks are started: srun (the default) or mpirun. Debian's Open MPI 4.1 wants srun's --mpi=pmix;
# `srun --mpi=list` names what a cluster has.
# LIBRAS_LAUNCHER=mpirun
# LIBRAS_SRUN_MPI=pmix_v4

# The data folder, where no --data is given.
# export LIBRAS_DATA=/scratch/$USER/libras_csv
