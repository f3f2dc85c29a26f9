import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { takeCommands } from './describe-commands.ts';
import { methods, type OpenApiDocument, type PathItem } from './document.ts';
import {
  addJsonContent,
  addSdkSamples,
  addTables,
  addSharedAnswers,
  addUsualShapes,
  addWebhookEvents,
} from './expand-sources.ts';

/** One source file of the contract: its name and its parsed YAML. */
export interface ContractPart {
  file: string;
  content: Record<string, unknown>;
}

/** Reads the index, the file of every family it names and errors.yaml, and merges them into one document. */
export function readContractSources(directory: string = import.meta.dirname): OpenApiDocument {
  const index = readPart(directory, 'openapi.yaml');
  const families = ((index.content['tags'] ?? []) as { name: string }[]).map((tag) => `${tag.name}.yaml`);
  const document = mergeContract(
    index,
    [...families, 'errors.yaml'].map((file) => readPart(directory, file)),
  );
  addUsualShapes(document);
  addWebhookEvents(document);
  addJsonContent(document);
  takeCommands(document);
  addSharedAnswers(document);
  addSdkSamples(document);
  addTables(document);
  return document;
}

/** Merges the parts into the index; throws if two of them declare the same path or component. */
export function mergeContract(index: ContractPart, parts: ContractPart[]): OpenApiDocument {
  const declaredIn = new Map<string, string>();
  const merged: Record<string, unknown> = { ...index.content, paths: {}, components: {} };
  for (const { file, content } of [index, ...parts]) {
    for (const key of Object.keys(content)) mustBeMergeable(key, file, index.file);
    put('paths', content['paths'], merged['paths'] as object, file, declaredIn);
    for (const [kind, entries] of Object.entries(content['components'] ?? {})) {
      const components = merged['components'] as Record<string, object>;
      put(`components.${kind}`, entries, (components[kind] ??= {}), file, declaredIn);
    }
    for (const key of ['webhooks', 'x-errors']) if (key in content) merged[key] = content[key];
    tagOperations(content['paths'], file);
  }
  return merged as unknown as OpenApiDocument;
}

/** A family's tag is the name of its file. */
function tagOperations(paths: unknown, file: string): void {
  for (const item of Object.values((paths ?? {}) as Record<string, PathItem>)) {
    for (const method of methods) if (item[method]) item[method].tags = [file.replace(/\.yaml$/, '')];
  }
}

function readPart(directory: string, file: string): ContractPart {
  const path = join(directory, file);
  try {
    return { file, content: parse(readFileSync(path, 'utf8')) as Record<string, unknown> };
  } catch (cause) {
    throw new Error(`The contract file ${path} cannot be read`, { cause });
  }
}

function mustBeMergeable(key: string, file: string, indexFile: string): void {
  if (file === indexFile || ['paths', 'components', 'webhooks', 'x-errors'].includes(key)) return;
  throw new Error(`${file} has the key "${key}"; a part may hold paths, components, webhooks and x-errors`);
}

function put(kind: string, entries: unknown, into: object, file: string, declaredIn: Map<string, string>): void {
  for (const [name, value] of Object.entries(entries ?? {})) {
    const label = `${kind}.${name}`;
    const earlier = declaredIn.get(label);
    if (earlier) throw new Error(`${label} is declared in ${earlier} and again in ${file}; keep one of them`);
    declaredIn.set(label, file);
    Object.assign(into, { [name]: value as unknown });
  }
}
