import { parse, TomlError } from 'smol-toml';

/** One value of a file at its place; an empty table is a leaf too, because `[regions.home]` alone makes a region. */
export interface Leaf {
  readonly path: readonly string[];
  readonly raw: unknown;
}

export type TomlFile = { readonly tree: object } | { readonly fault: string };

const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file; give the path of a TOML file',
  EISDIR: 'it is a folder; give the path of a TOML file',
  EACCES: 'this account may not; look at owner and mode of the file and of the folders above it',
};

/** Reads a file whole; what is wrong with it is told as one line that begins with its name. */
export function readTomlFile(read: () => Uint8Array, shownAs: string): TomlFile {
  let bytes: Uint8Array;
  try {
    bytes = read();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return {
      fault: `${shownAs}: the file cannot be read (${code}); ${ADVICE[code] ?? 'give the path of a TOML file'}`,
    };
  }
  try {
    const content = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // Integers too large for a number come as bigint, so that their setting can name its range.
    return { tree: parse(content, { integersAsBigInt: 'asNeeded' }) };
  } catch (error) {
    if (error instanceof TomlError) return { fault: describeSyntaxFault(error, shownAs) };
    return { fault: `${shownAs}: the file is not UTF-8 text, which TOML must be` };
  }
}

export function listLeaves(tree: object, path: readonly string[] = []): Leaf[] {
  const leaves: Leaf[] = [];
  for (const [name, raw] of Object.entries(tree)) {
    const here = [...path, name];
    if (isTable(raw) && Object.keys(raw).length > 0) leaves.push(...listLeaves(raw, here));
    else if (raw !== undefined) leaves.push({ path: here, raw });
  }
  return leaves;
}

/** Tables of the parser have no prototype, those of a program that passes settings have one. */
export function isTable(raw: unknown): raw is object {
  if (typeof raw !== 'object' || raw === null) return false;
  const prototype: unknown = Object.getPrototypeOf(raw);
  return prototype === null || prototype === Object.prototype;
}

/** The key as TOML writes it: `"http.port"` in quotes is one name and no setting. */
export function spellKey(path: readonly string[]): string {
  return path.map((name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name))).join('.');
}

/** Only the parser's first line: the lines below it quote the file, which may hold a password. */
function describeSyntaxFault(error: TomlError, shownAs: string): string {
  const [first = ''] = error.message.split('\n');
  return `${shownAs}:${error.line}:${error.column}: ${first.replace('Invalid TOML document: ', 'not valid TOML: ')}`;
}
