# The extension for a server of nixpkgs 25.05 or later:
#
#	postgresql_17.withPackages (_: [ (import ./packaging/nix { inherit pkgs; postgresql = pkgs.postgresql_17; }) ])
{
  pkgs ? import <nixpkgs> { },
  postgresql ? pkgs.postgresql,
}:

postgresql.pkgs.callPackage (
  {
    bison,
    flex,
    lib,
    postgresqlBuildExtension,
  }:
  postgresqlBuildExtension {
    pname = "dynamo_table";
    version = builtins.elemAt (builtins.match ".*default_version = '([0-9.]+)'.*" (builtins.readFile ../../dynamo_table.control)) 0;
    src = lib.cleanSource ../..;
    nativeBuildInputs = [
      bison
      flex
    ];
    meta = {
      description = "DynamoDB's data model in PostgreSQL";
      license = lib.licenses.postgresql;
      platforms = lib.platforms.linux;
    };
  }
) { }
