import { readFileSync } from 'node:fs';
import { readProgramFile } from '../../program-files/index.ts';
import { ConfigFault } from './config-fault.ts';
import { findConflicts } from './cross-checks.ts';
import { applyLeaf, copyOf, emptyDraft, fillEntries } from './draft.ts';
import type { Draft } from './draft.ts';
import { applyEnvironment } from './environment.ts';
import { listKeys } from './keys.ts';
import { findNameFault } from './public-name.ts';
import type { Config, DeepPartial, Source, Sources } from './settings.ts';
import { listLeaves, readTomlFile } from './toml-tree.ts';

export interface ConfigInput {
  /** A TOML file with what differs from the defaults. */
  readonly file?: string | undefined;
  readonly profile?: 'production' | 'development' | undefined;
  /** Also asks for what real mail cannot do without. */
  readonly isServing?: boolean | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Wins over everything: for flags and tests. */
  readonly overrides?: DeepPartial<Config> | undefined;
}

/** Lays the layers over each other, later over earlier; throws a ConfigFault with every fault of every layer. */
export function loadConfig(input: ConfigInput): { config: Config; sources: Sources; warnings: string[] } {
  const draft = copyOf((shippedDefaults ??= readDefaults()));
  const defaults = new Map(draft.values);
  if (input.profile === 'development') applyFile(draft, shipped('development.toml'), 'profile');
  const { file } = input;
  const isRead = file === undefined || applyFile(draft, { read: () => readFileSync(file), shownAs: file }, 'file');
  applyEnvironment(draft, input.env);
  for (const leaf of listLeaves(input.overrides ?? {}))
    applyLeaf(draft, leaf, { source: 'override', shownAs: 'override' });
  fillEntries(draft, defaults);
  addMissing(draft);
  if (draft.faults.size > 0 && isIncomplete(draft)) throw new ConfigFault([...draft.faults]);
  const config = assemble(draft.values, input.profile ?? 'production');
  addConflicts(draft, config);
  // What a file that cannot be read says of the name, nobody knows.
  if (input.isServing && isRead) addNameFault(draft, config, input.file);
  if (draft.faults.size > 0) throw new ConfigFault([...draft.faults]);
  return { config, sources: draft.sources, warnings: [...draft.warnings] };
}

/** The largest layer is the same for every call of a process. */
let shippedDefaults: Draft | undefined;

function readDefaults(): Draft {
  const draft = emptyDraft();
  applyFile(draft, shipped('default.toml'), 'default');
  return draft;
}

interface Layer {
  readonly read: () => Uint8Array;
  readonly shownAs: string;
}

function shipped(name: string): Layer {
  return { read: () => readProgramFile(`config/${name}`), shownAs: `config/${name}` };
}

function applyFile(draft: Draft, file: Layer, source: Source): boolean {
  const content = readTomlFile(file.read, file.shownAs);
  if ('fault' in content) {
    draft.faults.add(content.fault);
    return false;
  }
  for (const leaf of listLeaves(content.tree)) applyLeaf(draft, leaf, { source, shownAs: file.shownAs });
  return true;
}

function isIncomplete(draft: Draft): boolean {
  return listKeys(draft.entries).some((key) => !draft.values.has(key));
}

function addMissing(draft: Draft): void {
  for (const key of listKeys(draft.entries)) {
    if (draft.values.has(key) || draft.unsound.has(key)) continue;
    draft.faults.add(`config/default.toml: ${key} is missing; restore the file that came with this version`);
  }
}

function addConflicts(draft: Draft, config: Config): void {
  for (const { keys, text } of findConflicts(config)) {
    if (!keys.some((key) => draft.unsound.has(key))) draft.faults.add(text);
  }
}

function addNameFault(draft: Draft, config: Config, file: string | undefined): void {
  const source = draft.sources.get('instance.host') ?? 'default';
  const fault = findNameFault(config, { source, file });
  if (fault !== undefined) draft.faults.add(fault);
}

function assemble(values: ReadonlyMap<string, unknown>, profile: Config['profile']): Config {
  const root: Record<string, unknown> = { profile };
  for (const [key, value] of values) {
    const path = key.split('.');
    const last = path.pop() ?? '';
    let table = root;
    for (const name of path) table = (table[name] ??= {}) as Record<string, unknown>;
    table[last] = value;
  }
  // Every key of the table of kinds was read by its kind and none is missing, which is what the type says.
  return freeze(root) as unknown as Config;
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}
