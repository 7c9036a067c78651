"""Tests of the installed trainyard.py: by CMake with the program, by pip from a checkout; which program it starts.

usage: TRAINYARD_BUILD=BUILD_DIR /usr/bin/python3 -m unittest tests/notebooks/install_test.py
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["TRAINYARD_BUILD"]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SAYS_PROGRAM = "import trainyard as ty; print(ty._program()); print(ty.data()); print(ty.names('gpus')[0], len(ty.published('nccl')))"


def python(code, folder, program=sys.executable, **environment):
    """Runs Python code in a folder, without the variables that name a program."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRAINYARD", "PYTHON"))}
    command = [program, "-B", "-c", code]
    return subprocess.run(command, cwd=folder, env={**kept, **environment}, capture_output=True, text=True, check=False)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.files.name, "prefix")
        cls.elsewhere = pathlib.Path(cls.files.name, "elsewhere")
        cls.elsewhere.mkdir()
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], capture_output=True, check=True)
        cls.module = cls.prefix / "lib" / "python3" / "dist-packages"

    @classmethod
    def tearDownClass(cls):
        cls.files.cleanup()

    def test_the_installed_module_starts_the_installed_program_from_any_folder(self):
        done = python(SAYS_PROGRAM, self.elsewhere, PYTHONPATH=str(self.module))
        self.assertEqual(done.returncode, 0, done.stderr)
        program, data, _ = done.stdout.splitlines()
        self.assertEqual(program, str(self.prefix / "bin" / "trainyard"))
        self.assertEqual(data, str(self.prefix / "share" / "trainyard"))

    def test_pip_installs_it_from_a_checkout_whose_program_it_starts(self):
        checkout = self.checkout("with pip")
        shutil.copy(SOURCE / "pyproject.toml", checkout)
        environment = pathlib.Path(self.files.name, "environment")
        install = [environment / "bin" / "pip", "install", "--quiet", "--no-index", "--no-build-isolation", checkout]
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", environment], check=True)
        subprocess.run(install, check=True)
        code = (
            "import trainyard as ty, sys; print(ty._program(), 'matplotlib' in sys.modules)\n"
            "import matplotlib.pyplot as plt; plt.style.use(ty.STYLE); print(plt.rcParams['lines.markersize'])"
        )
        done = python(code, self.elsewhere, program=environment / "bin" / "python", PATH="/nowhere")
        self.assertEqual(done.stdout, f"{checkout / 'build' / 'trainyard'} False\n4.5\n", done.stderr)

    def test_the_variable_comes_first(self):
        done = python("import trainyard as ty; print(ty._program())", self.elsewhere, PYTHONPATH=str(self.module), TRAINYARD="/x/y")
        self.assertEqual(done.stdout, "/x/y\n")

    def copied(self, name):
        """A copy of the module alone, in a folder of that name that has no program beside it."""
        folder = pathlib.Path(self.files.name, name)
        folder.mkdir(exist_ok=True)
        shutil.copy(self.module / "trainyard.py", folder)
        return str(folder)

    def test_a_module_alone_starts_the_program_on_the_path(self):
        path = f"{self.prefix / 'bin'}:{os.environ['PATH']}"
        done = python(SAYS_PROGRAM, self.elsewhere, PYTHONPATH=self.copied("alone"), PATH=path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[1], str(self.prefix / "share" / "trainyard"))

    def test_without_a_program_it_says_what_to_do(self):
        done = python("import trainyard as ty; ty.names('gpus')", self.elsewhere, PYTHONPATH=self.copied("alone"), PATH="/nowhere")
        self.assertIn("FileNotFoundError: the program trainyard was not found: build it", done.stderr)

    def test_a_missing_package_is_named_in_one_sentence(self):
        hide = "import sys, importlib.util as u; find = u.find_spec; u.find_spec = lambda n, *a: None if n == 'pandas' else find(n, *a)\n"
        done = python(hide + "import trainyard", self.elsewhere, PYTHONPATH=str(self.module))
        last = done.stderr.splitlines()[-1]
        self.assertEqual(
            last,
            "ImportError: trainyard needs pandas: install with 'apt-get install python3-pandas' or 'pip install pandas'",
        )

    def checkout(self, name):
        """A checkout with a program in its build folder."""
        folder = pathlib.Path(self.files.name, name)
        shutil.copytree(SOURCE / "notebooks", folder / "notebooks", ignore=shutil.ignore_patterns("*.ipynb", "*.png", "*.egg-info"))
        (folder / "build").mkdir()
        shutil.copy(self.prefix / "bin" / "trainyard", folder / "build")
        return folder

    def test_the_module_of_a_checkout_starts_the_program_of_its_build_folder(self):
        checkout = self.checkout("checkout")
        done = python("import trainyard as ty; print(ty._program())", self.elsewhere, PYTHONPATH=str(checkout / "notebooks"), PATH="/nowhere")
        self.assertEqual(done.stdout, f"{checkout / 'build' / 'trainyard'}\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
