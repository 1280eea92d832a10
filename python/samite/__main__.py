"""python -m samite: prints the version, the devices, the compilers, and how to install missing ones; with --cmake-dir,
the folder for find_package(samite)."""

import argparse

import samite
from samite._samite import requirements


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m samite", description="What this package is and sees.")
    parser.add_argument("--cmake-dir", action="store_true", help="print the folder for CMake's find_package(samite)")
    if parser.parse_args().cmake_dir:
        print(samite.cmake_dir())
    else:
        print(f"samite {samite.__version__} on {', '.join(samite.devices())}")
        for name, text, is_found in requirements():
            print(f"{name}: {text}" if is_found else f"{name} is missing: {text}")


main()
