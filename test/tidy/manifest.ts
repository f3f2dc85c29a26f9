import fs from 'node:fs';
import path from 'node:path';
import { listFiles, type Problem } from './tree.ts';

type Manifest = Record<'dependencies' | 'optionalDependencies' | 'devDependencies', Record<string, string> | undefined>;

/** Finds inexact versions: an installation of today and one of next year have to be the same program. */
export function findInexactVersions(root: string): Problem[] {
  const manifest = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as Manifest;
  return (['dependencies', 'optionalDependencies', 'devDependencies'] as const).flatMap((kind) =>
    Object.entries(manifest[kind] ?? {})
      .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      .map(([name, version]) => ({
        at: 'package.json',
        says: `${kind}.${name} is "${version}"; write one exact version.`,
      })),
  );
}

/** Finds recorded download addresses, which tie every installation to the registry of whoever wrote the lockfile. */
export function findRecordedAddresses(root: string): Problem[] {
  const count = fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8').split('"resolved"').length - 1;
  if (count === 0) return [];
  const says = `records ${count} download addresses; .npmrc's omit-lockfile-registry-resolved keeps them out: run npm install again.`;
  return [{ at: 'package-lock.json', says }];
}

type Locked = { version?: string; optionalDependencies?: Record<string, string> };

/**
 * Finds missing platforms. npm writes only those platforms' packages that its registry has, and npm ci refuses what is
 * missing: then nobody with another registry can install anything.
 */
export function findMissingPlatforms(root: string): Problem[] {
  const { packages } = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  return Object.entries(packages).flatMap(([at, { optionalDependencies }]) =>
    Object.entries(optionalDependencies ?? {})
      .filter(([name, range]) => {
        const found = listPlaces(at, name).find((place) => place in packages);
        const exact = /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(range) ? range : undefined;
        return found === undefined || (exact !== undefined && packages[found]?.version !== exact);
      })
      .map(([name, range]) => ({
        at: 'package-lock.json',
        says:
          `has no entry for ${name} ${range}, which ${at || 'package.json'} names. Run npm install with a registry that holds it, or ` +
          'write an entry with its version, os, cpu and libc as those beside it have them.',
      })),
  );
}

/** Returns where a package named by the one at a place may be: inside it, or in any node_modules above. */
function listPlaces(at: string, name: string): string[] {
  const above = at.split(/\/?node_modules\//).slice(1);
  return Array.from({ length: above.length + 1 }, (_, depth) =>
    [...above.slice(0, above.length - depth), name].map((part) => `node_modules/${part}`).join('/'),
  );
}

const machinePath = /(?:^|[\s"'`(=:])\/(?:work|farm|root|Users\/\w+|home\/(?!rasket\b)\w+|tmp\/bash)\/[\w.-]/;
const registryHost = /\bregistry\.(?!example\b)[a-z0-9-]+\.[a-z]{2,}/;

/** Finds paths and registries of the machine that the tree was written on. */
export function findMachinePaths(root: string): Problem[] {
  return listFiles(root)
    .filter((file) => file !== 'package-lock.json' && !/\.(png|gz|db|eml|msg|bin|pem)$/.test(file))
    .flatMap((file) => {
      const lines = fs.readFileSync(path.join(root, file), 'utf8').split('\n');
      return lines.flatMap((line, index) => {
        const found = machinePath.exec(line) ?? registryHost.exec(line);
        return found ? [{ at: `${file}:${index + 1}`, says: `names a place of one machine: ${found[0].trim()}` }] : [];
      });
    });
}
