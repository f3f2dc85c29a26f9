import { createHash } from 'node:crypto';
import { listOperations, resolveRef } from '../contract/index.ts';
import type {
  MediaType,
  OpenApiDocument,
  OperationEntry,
  OrRef,
  Parameter,
  ResponseObject,
  Schema,
} from '../contract/index.ts';

/** The API reference as one page: no script, nothing loaded from elsewhere, every value escaped. */
export function renderDocsPage(document: OpenApiDocument): string {
  const { title, version, summary = '', description = '' } = document.info;
  const families = document.tags.map((tag) => ({
    ...tag,
    operations: listOperations(document).filter((entry) => entry.operation.tags.includes(tag.name)),
  }));
  const links = families.map(
    (family) =>
      `<li><a href="#${escape(family.name)}">${escape(family.name)}</a><ul>${family.operations
        .map((entry) => `<li><a href="#${escape(entry.operationId)}">${escape(entry.operation.summary)}</a></li>`)
        .join('')}</ul></li>`,
  );
  const sections = families.map(
    (family) =>
      `<section id="${escape(family.name)}"><h2>${escape(family.name)}</h2>${prose(family.description)}${family.operations
        .map((entry) => renderOperation(document, entry))
        .join('')}</section>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} API ${escape(version)}</title><style>${style}</style></head>
<body><nav aria-label="Operations"><p><a href="#top"><strong>${escape(title)}</strong></a> ${escape(version)}</p>
<ul>${links.join('')}<li><a href="#errors">errors</a></li></ul></nav>
<main id="top"><h1>${escape(title)} API</h1><p>${escape(summary)}</p>${prose(description)}
${renderServers(document)}${sections.join('\n')}${renderErrors(document)}</main></body></html>
`;
}

function renderServers(document: OpenApiDocument): string {
  const rows = document.servers.map((server) => [
    `<code>${escape(server.url)}</code>`,
    inline(server.description ?? ''),
  ]);
  return `<h3>Addresses</h3>${table(['Address', 'Meaning'], rows)}`;
}

function renderErrors(document: OpenApiDocument): string {
  const rows = document['x-errors'].map((row) => [
    `<code>${escape(row.name)}</code>`,
    `${row.status}`,
    inline(row.meaning),
  ]);
  return `<section id="errors"><h2>errors</h2>${table(['Name', 'Status', 'Meaning'], rows)}</section>`;
}

function renderOperation(document: OpenApiDocument, entry: OperationEntry): string {
  const { operation, method, path } = entry;
  const body = operation.requestBody?.content['application/json'];
  return `<article id="${escape(entry.operationId)}"><h3>${escape(operation.summary)}</h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> <code>${breakable(path)}</code></p>
${prose(operation.description)}<p>${renderAccess(entry)}</p>
${entry.parameters.length > 0 ? `<h4>Parameters</h4>${renderParameters(document, entry.parameters)}` : ''}
${body ? `<h4>Body</h4>${renderFields(document, body.schema)}` : ''}
<h4>Request</h4><pre tabindex="0">${escape(exampleCurl(document, entry))}</pre>
<h4>Responses</h4>${Object.entries(operation.responses)
    .map(([status, response]) => renderResponse(document, status, resolveRef(document, response)))
    .join('')}</article>`;
}

function renderAccess(entry: OperationEntry): string {
  const { 'x-service-permission': permission, 'x-service-scope': scope } = entry.operation;
  if (permission === 'none') return 'Needs no credential.';
  if (permission === 'operator') return 'Needs the token of an operator.';
  const ways = [
    permission === 'session' ? 'a dashboard session' : '',
    permission && permission !== 'session' ? `an API key with <code>${escape(permission)}</code>` : '',
    scope ? `an access token with <code>${escape(scope)}</code>` : '',
  ].filter(Boolean);
  return `Needs ${ways.join(' or ')}.`;
}

function renderParameters(document: OpenApiDocument, parameters: Parameter[]): string {
  const rows = parameters.map((parameter) => {
    const schema = resolveRef<Schema>(document, parameter.schema);
    const rules = [parameter.required ? 'required' : '', ...rulesOf(schema)].filter(Boolean).join('; ');
    const name = `<code>${escape(parameter.name)}</code> <small>${parameter.in}</small>`;
    return [name, escape(typeName(document, schema)), inline(rules), inline(parameter.description ?? '')];
  });
  return table(['Name', 'Type', 'Rules', 'Meaning'], rows);
}

function renderResponse(document: OpenApiDocument, status: string, response: ResponseObject): string {
  const [mediaType, media] = Object.entries(response.content ?? {})[0] ?? [];
  const names = response['x-error-names']?.map((name) => `<code>${escape(name)}</code>`).join(', ');
  const isSuccess = status.startsWith('2');
  const example = media && mediaType === 'application/json' ? firstExample(media) : undefined;
  return `<details${isSuccess ? ' open' : ''}><summary><strong>${escape(status)}</strong> ${inline(response.description)}</summary>
${names ? `<p>Names: ${names}.</p>` : ''}${mediaType && !example ? `<p>A body of type <code>${escape(mediaType)}</code>.</p>` : ''}
${example === undefined ? '' : `<pre tabindex="0">${escape(JSON.stringify(example, null, 2))}</pre>`}
${isSuccess && media && example !== undefined ? renderFields(document, media.schema) : ''}</details>`;
}

/** One row per field; the fields of objects follow theirs, as `tags[].name`. */
function renderFields(document: OpenApiDocument, schema: OrRef<Schema>): string {
  const rows = fieldRows(document, resolveRef<Schema>(document, schema), '', 0);
  return rows.length > 0 ? table(['Field', 'Type', 'Rules', 'Meaning'], rows) : '';
}

function fieldRows(document: OpenApiDocument, schema: Schema, prefix: string, depth: number): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const field = resolveRef<Schema>(document, property);
    const rules = [schema.required?.includes(name) ? 'required' : '', ...rulesOf(field)].filter(Boolean).join('; ');
    const path = prefix + name;
    const row = [
      `<code>${breakable(path)}</code>`,
      escape(typeName(document, field)),
      inline(rules),
      inline(field.description ?? ''),
    ];
    // Four levels are more than any body has; the bound keeps a schema that contains itself from running away.
    if (depth >= 4) return [row];
    const items = field.items ? resolveRef<Schema>(document, field.items) : undefined;
    const inner = items
      ? fieldRows(document, items, `${path}[].`, depth + 1)
      : fieldRows(document, field, `${path}.`, depth + 1);
    return [row, ...inner];
  });
}

function typeName(document: OpenApiDocument, schema: Schema): string {
  const name = (inner: OrRef<Schema>) => typeName(document, resolveRef<Schema>(document, inner));
  if (schema.anyOf) return schema.anyOf.map(name).join(' or ');
  if (schema.type === 'array') return schema.items ? `list of ${name(schema.items)}` : 'list';
  const types = [schema.type ?? 'any'].flat().join(' or ');
  return schema.format ? `${types} (${schema.format})` : types;
}

/** The plain rules of a schema, in words; backticks mark code. */
function rulesOf(schema: Schema): string[] {
  const rules: string[] = [];
  if (schema.const !== undefined) rules.push(`always \`${JSON.stringify(schema.const)}\``);
  if (schema.enum) rules.push(`one of ${schema.enum.map((value) => `\`${String(value)}\``).join(', ')}`);
  if (schema.minimum !== undefined) rules.push(`at least ${schema.minimum}`);
  if (schema.maximum !== undefined) rules.push(`at most ${schema.maximum}`);
  if (schema.minLength !== undefined)
    rules.push(`at least ${schema.minLength} character${schema.minLength === 1 ? '' : 's'}`);
  if (schema.maxLength !== undefined) rules.push(`at most ${schema.maxLength} characters`);
  if (schema.minItems !== undefined) rules.push(`at least ${schema.minItems} items`);
  if (schema.maxItems !== undefined) rules.push(`at most ${schema.maxItems} items`);
  if (schema.pattern !== undefined) rules.push(`matches \`${schema.pattern}\``);
  if (schema.default !== undefined) rules.push(`default \`${String(schema.default)}\``);
  return rules;
}

function exampleCurl(document: OpenApiDocument, entry: OperationEntry): string {
  const server = document.servers[0];
  const base = Object.entries(server?.variables ?? {}).reduce(
    (url, [name, variable]) => url.replace(`{${name}}`, variable.default),
    server?.url ?? '',
  );
  const path = entry.parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, encodeURIComponent(String(example))), entry.path);
  const media = entry.operation.requestBody?.content['application/json'];
  const isSafe = entry.method === 'get';
  const parts = [`curl ${isSafe ? '' : `-X ${entry.method.toUpperCase()} `}${shellQuote(base + path)}`];
  if (entry.operation['x-service-permission'] !== 'none') parts.push(`-H "Authorization: Bearer $RASKET_API_KEY"`);
  for (const { name, example } of entry.parameters.filter((parameter) => parameter.in === 'header')) {
    parts.push(`-H ${shellQuote(`${name}: ${String(example)}`)}`);
  }
  if (media) {
    parts.push(`-H 'Content-Type: application/json'`, `-d ${shellQuote(JSON.stringify(firstExample(media), null, 2))}`);
  }
  return parts.join(' \\\n  ');
}

function firstExample(media: MediaType): unknown {
  return media.example ?? Object.values(media.examples ?? {})[0]?.value;
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function table(head: string[], rows: string[][]): string {
  const cells = (tag: string, values: string[]) =>
    `<tr>${values.map((value) => `<${tag}>${value}</${tag}>`).join('')}</tr>`;
  const body = rows.map((row) => cells('td', row)).join('');
  return `<div class="table" tabindex="0"><table><thead>${cells('th', head)}</thead><tbody>${body}</tbody></table></div>`;
}

function prose(text = ''): string {
  const paragraphs = text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== '');
  return paragraphs.map((paragraph) => `<p>${inline(paragraph)}</p>`).join('');
}

/** Escapes, then turns backticks into code: the only markup descriptions use. */
function inline(text: string): string {
  return escape(text.trim()).replace(/`([^`]+)`/g, '<code>$1</code>');
}

/** Lets long paths and field names wrap on a phone after a slash or dot. */
function breakable(text: string): string {
  return escape(text).replace(/[/.]/g, '$&<wbr>');
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

const style = `
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5b6470;--line:#dfe3e8;--paper:#fff;--shade:#f5f7f9;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#9aa4b1;--line:#2e353d;--paper:#14171a;--shade:#1d2227;--link:#7db7f5}}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{margin:0;font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
a{color:var(--link);text-decoration:none}a:hover,a:focus-visible{text-decoration:underline}
nav{padding:1rem;border-bottom:1px solid var(--line)}nav p{margin:0 0 .5rem}nav ul{list-style:none;margin:0;padding:0}
nav>ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem}nav>ul>li>a{display:inline-block;padding:.4rem 0;font-weight:600}nav ul ul{display:none}
main{padding:1rem;max-width:60rem;min-width:0}
h1{font-size:1.8rem;margin:.5rem 0}h2{margin:3rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{margin:2.5rem 0 .5rem}h4{margin:1.25rem 0 .4rem;font-size:.95rem}small,th{color:var(--soft)}
code,pre{font:.875em/1.5 ui-monospace,monospace}code{overflow-wrap:anywhere}td:first-child code{overflow-wrap:normal}
pre{padding:.75rem;background:var(--shade);border:1px solid var(--line);border-radius:6px;overflow-x:auto}
.table{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-bottom:1px solid var(--line);min-width:6rem}
.method{display:inline-block;padding:0 .45rem;border-radius:4px;color:#fff;background:#0b5cad;font:600 .8rem/1.6 ui-monospace,monospace}
.post{background:#1b7a3d}.patch{background:#8a5a00}.delete{background:#b3261e}
summary{cursor:pointer;padding:.35rem 0}details{border-bottom:1px solid var(--line)}
@media(min-width:60rem){body{display:grid;grid-template-columns:17rem minmax(0,1fr)}
nav{position:sticky;top:0;height:100vh;overflow-y:auto;border-bottom:0;border-right:1px solid var(--line)}
nav>ul{display:block}nav ul ul{display:block;margin:0 0 .75rem .75rem;font-size:.9rem}main{padding:1.5rem 2.5rem}}
`;

/** For the Content-Security-Policy of the page: `default-src 'none'; style-src '<this>'`. */
export const docsStyleHash = `sha256-${createHash('sha256').update(style).digest('base64')}`;
