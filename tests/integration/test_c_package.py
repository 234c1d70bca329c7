# SPDX-License-Identifier: Apache-2.0
"""The C library as others find it: installed, by pkg-config and by CMake, from C99 and C++; what it exports."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

BURND = pathlib.Path(os.environ.get("BURND", "build/release/bin/burnd")).resolve()
BUILD = BURND.parents[1]
PROGRAM = """
#include <burn/burn.h>
#include <burn/burn_ops.h>
#include <stdio.h>
int main(void)
{
    burn_context *context;
    burn_tensor *a, *b, *c;
    double sum;
    int64_t dims[1] = {3};
    float values[3] = {1, 2, 3}, out[3];
    if (burn_open(NULL, &context) || burn_upload(context, BURN_DTYPE_FLOAT32, 1, dims, values, &a) ||
        burn_mul(context, burn_in(a), burn_float(2.5), &b) || burn_read(b, out, sizeof out) ||
        burn_mse_loss(context, burn_in(a), burn_in(b), BURN_REDUCTION_SUM, &c) || burn_item(c, &sum))
        return fprintf(stderr, "%s\\n", burn_last_error()->text), 1;
    if (sum != 14 * 1.5 * 1.5)
        return 1;
    printf("%g %g %g\\n", out[0], out[1], out[2]);
    burn_release(a);
    burn_release(b);
    burn_release(c);
    burn_close(context);
    return 0;
}
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", str(BUILD), "--prefix", str(folder))
    return folder


def library_folder(prefix):
    return next(path.parent for path in prefix.rglob("libburn-client.so"))


def environment(prefix):
    return {**os.environ, "BURND": str(BURND), "BURN_URL": "private:", "LD_LIBRARY_PATH": str(library_folder(prefix)),
            "PKG_CONFIG_PATH": str(library_folder(prefix) / "pkgconfig")}


@pytest.mark.parametrize("compiler, standard, name", [("gcc", "c99", "main.c"), ("gcc", "c17", "main.c"),
                                                      ("g++", "c++11", "main.cpp")])
def test_by_pkg_config(prefix, tmp_path, compiler, standard, name):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    (tmp_path / name).write_text(PROGRAM)
    flags = run("pkg-config", "--cflags", "--libs", "burn-client", env=environment(prefix)).split()
    # The .pc file names the prefix of the configuration; the installed tree stands elsewhere.
    flags = [flag for flag in flags if not flag.startswith(("-I", "-L"))]
    run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror", str(tmp_path / name), "-o",
        str(tmp_path / "main"), f"-I{prefix}/include", f"-L{library_folder(prefix)}", *flags)
    assert run(str(tmp_path / "main"), env=environment(prefix)) == "2.5 5 7.5\n"


@pytest.mark.parametrize("target", ["burn::client", "burn::client_static"])
def test_by_cmake(prefix, tmp_path, target):
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(burn-client 0.1 REQUIRED)
add_executable(main main.c)
target_link_libraries(main PRIVATE {target})
""")
    run("cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", str(tmp_path / "build"))
    assert run(str(tmp_path / "build" / "main"), env=environment(prefix)) == "2.5 5 7.5\n"


def test_the_manual_of_the_ops_is_installed(prefix):
    manual = next(prefix.rglob("doc/*/OPS.md")).read_text()
    header = (prefix / "include/burn/burn_ops.h").read_text()
    values = dict(re.findall(r"BURN_REDUCTION_(\w+) = (\d)", header))
    assert values == {"NONE": "0", "MEAN": "1", "SUM": "2"}  # as PyTorch's at::Reduction
    assert "`reduction` is 0 none, 1 mean, 2 sum" in manual and "reduction BURN_REDUCTION_MEAN" in header
    assert "Usual: dims [], keepdim 0, dtype BURN_DTYPE_DEFAULT." in header and not re.search(r"(reduction \d|dtype (none|float))\b.*\*/", header)


def test_only_the_api_is_exported(prefix):
    library = library_folder(prefix) / "libburn-client.so.1"
    lines = [line.split() for line in run("nm", "-D", "--defined-only", str(library)).splitlines()]
    names = [line[-1].split("@")[0] for line in lines if line[1] != "A"]
    assert names and all(name.startswith("burn_") for name in names)
    header = (prefix / "include/burn/burn.h").read_text() + (prefix / "include/burn/burn_ops.h").read_text()
    assert [name for name in names if f"{name}(" not in header] == []
    assert "BURN_CLIENT_1" in run("readelf", "-V", str(library))
    assert "libburn-client.so.1" in run("readelf", "-d", str(library))


def test_no_name_of_libburn4(prefix):
    """Debian's libburn, for optical discs, also begins its names with burn_; both may be in one process."""
    other = pathlib.Path(__file__).parents[1] / "data" / "libburn4.symbols"
    if not other.exists():
        pytest.skip("no list of libburn4's symbols")
    library = library_folder(prefix) / "libburn-client.so.1"
    ours = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", str(library)).splitlines()}
    assert ours & set(other.read_text().split()) == set()
