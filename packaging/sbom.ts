import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './modules.ts';

interface Locked {
  name?: string;
  version?: string;
  license?: string;
  resolved?: string;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}
type Lock = Record<string, Locked>;

export interface Described {
  version: string;
  /** The time of the commit, as an ISO string. */
  at: string;
}

/**
 * Returns the bill of materials as CycloneDX 1.6: the packages of package-lock.json that the program runs with, and the
 * Node.js inside the executables. Equal inputs give equal bytes.
 */
export function renderSbom({ version, at }: Described): string {
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as { packages: Lock };
  const used = Object.keys(packages).filter((place) => place !== '' && packages[place]?.dev !== true);
  const references = new Map(
    used.map((place) => [place, packageUrl(nameIn(place, packages), packages[place]?.version ?? '')]),
  );
  const node = describeNode();
  const own = `pkg:generic/rasket@${encodeURIComponent(version)}`;
  const components = new Map(used.map((place) => [references.get(place), describePackage(place, packages)]));
  const dependencies = new Map<string, Set<string>>();
  for (const place of ['', ...used]) {
    const ref = place === '' ? own : (references.get(place) ?? '');
    const needed = dependencies.get(ref) ?? new Set();
    for (const found of findNeeded(place, packages)) needed.add(references.get(found) ?? '');
    dependencies.set(ref, needed);
  }
  dependencies.get(own)?.add(node['bom-ref']);
  dependencies.set(node['bom-ref'], new Set());
  const content = {
    metadata: {
      timestamp: at,
      component: {
        type: 'application',
        'bom-ref': own,
        name: 'rasket',
        version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
        purl: own,
      },
    },
    components: [node, ...components.values()],
    dependencies: [...dependencies].map(([ref, needed]) => ({ ref, dependsOn: [...needed].sort() })),
  };
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${makeUuid(JSON.stringify(content))}`,
    version: 1,
  };
  return `${JSON.stringify({ ...head, ...content }, undefined, 2)}\n`;
}

const nameIn = (place: string, packages: Lock): string =>
  packages[place]?.name ?? place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);

const packageUrl = (name: string, version: string): string =>
  `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;

function describePackage(place: string, packages: Lock) {
  const { version = '', license, resolved, integrity, optional } = packages[place] ?? {};
  const name = nameIn(place, packages);
  const [group, short] = name.startsWith('@') ? name.split('/') : [undefined, name];
  const purl = packageUrl(name, version);
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group === undefined ? {} : { group }),
    name: short,
    version,
    // Optional packages may be missing in an installation, and the executables contain none but Node.js.
    scope: optional === true ? 'optional' : 'required',
    ...(integrity === undefined ? {} : { hashes: [describeHash(integrity)] }),
    ...(license === undefined ? {} : { licenses: [describeLicense(license)] }),
    purl,
    ...(resolved === undefined ? {} : { externalReferences: [{ type: 'distribution', url: resolved }] }),
  };
}

function describeHash(integrity: string) {
  const [kind = '', text = ''] = integrity.split(/-(.*)/s);
  return { alg: kind.toUpperCase().replace('SHA', 'SHA-'), content: Buffer.from(text, 'base64').toString('hex') };
}

const describeLicense = (license: string) =>
  /[\s()]/.test(license) ? { expression: license.replace(/^\((.*)\)$/, '$1') } : { license: { id: license } };

function describeNode() {
  const version = process.versions.node;
  const ref = `pkg:generic/node@${version}`;
  return {
    type: 'application',
    'bom-ref': ref,
    name: 'node',
    version,
    description: 'The runtime inside the executables',
    scope: 'required',
    licenses: [{ license: { id: 'MIT' } }],
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    purl: ref,
  };
}

/** Returns the places of the packages that Node.js finds for the dependencies of a package. */
function findNeeded(place: string, packages: Lock): string[] {
  const { dependencies = {}, optionalDependencies = {} } = packages[place] ?? {};
  return Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => {
    for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
      const found = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
      if (packages[found] !== undefined) return packages[found].dev === true ? [] : [found];
      if (folder === '') return [];
    }
  });
}

/** A UUID of version 8 (RFC 9562), made of the content. */
function makeUuid(content: string): string {
  const digits = createHash('sha256').update(content).digest('hex');
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-');
}
