import fs from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { listEntries, type Problem } from './tree.ts';

/**
 * The keywords allowed at each place of the contract files: each with the kind of its value, `''` for plain data,
 * `place[]` for a list of places and `place{}` for a map of them. A validator silently skips keywords that it does not
 * know, so that a comma without quotes in a flow map cuts a description in two, and a misspelled keyword checks
 * nothing.
 */
const places: Record<string, Record<string, string>> = {
  file: {
    ...words('openapi security'),
    info: 'info',
    servers: 'server[]',
    tags: 'tag[]',
    paths: 'path{}',
    components: 'components',
    webhooks: 'event{}',
    'x-errors': 'errorRow[]',
  },
  info: { ...words('title version summary description'), license: 'license' },
  license: words('name identifier'),
  server: words('url description'),
  tag: words('name description'),
  errorRow: words('name status meaning'),
  event: words('says data has may'),
  components: {
    schemas: 'schema{}',
    parameters: 'parameter{}',
    responses: 'response{}',
    headers: 'header{}',
    securitySchemes: 'securityScheme{}',
  },
  securityScheme: words('type scheme in name description'),
  path: {
    parameters: 'parameter[]',
    get: 'operation',
    post: 'operation',
    put: 'operation',
    patch: 'operation',
    delete: 'operation',
  },
  operation: {
    ...words('operationId tags summary description'),
    ...words(
      'x-service-permission x-service-scope x-service-scope-also x-service-not-by-apps x-service-not-in-mail x-service-not-by-mcp x-service-use x-service-role x-service-effect x-service-audit x-service-audit-fields x-sdk x-refused-fields x-refused-as x-bare-list x-same-origin x-link-to x-oauth-flow x-mcp x-development x-own-credential x-service-irrevocable x-service-reaches-people x-holds-email',
    ),
    'x-cli': 'command',
    parameters: 'parameter[]',
    requestBody: 'requestBody',
    responses: 'response{}',
  },
  command: {
    ...words('command none key words more order summary description example destroys sets done'),
    path: 'commandFlag{}',
    flags: 'commandFlag{}',
    also: 'command[]',
  },
  commandFlag: {
    ...words(
      'word example flag value says isWord isVariadic isOptional isRepeatable isList fromFile isFile orStdin isQuery',
    ),
    ...words(
      'isNumber isBoolean no isJson isWhere syntax isRequired preset isCostly isSecret choices isClearable isEmptied',
    ),
    ...words('clear isPart hasLines isMore place isOneOf orElse'),
  },
  parameter: {
    ...words('name in required description example x-cursor x-is-list pattern'),
    schema: 'schema',
    'x-cli': 'commandFlag',
  },
  requestBody: { ...words('required x-schema x-example x-form'), content: 'mediaType{}' },
  response: { ...words('description x-error-names x-schema x-example'), headers: 'header{}', content: 'mediaType{}' },
  header: { ...words('description required example'), schema: 'schema' },
  mediaType: { schema: 'schema', example: '', examples: 'example{}' },
  example: words('summary value'),
  schema: {
    ...words('type format description const enum default pattern required writeOnly x-message'),
    ...words('minLength maxLength minimum maximum minItems maxItems minProperties maxProperties'),
    ...words('x-example x-page-of x-plural x-reference-to x-deleted x-id-prefix x-aliases x-null-is-absent x-base64'),
    'x-cli': 'commandFlag',
    items: 'schema',
    properties: 'schema{}',
    additionalProperties: 'schema',
    anyOf: 'schema[]',
    oneOf: 'schema[]',
    if: 'schema',
    then: 'schema',
    else: 'schema',
  },
};

export function findUnknownContractWords(root: string): Problem[] {
  const files = (listEntries(root, 'src/contract') ?? []).filter((name) => name.endsWith('.yaml'));
  return files.flatMap((name) => {
    const file = `src/contract/${name}`;
    const content: unknown = parse(fs.readFileSync(path.join(root, file), 'utf8'));
    return unknownWords(content, 'file', '').map(({ at, says }) => ({ at: `${file}: ${at}`, says }));
  });
}

/** Every operation must say who may call it: without it nobody would have decided. */
const NEEDED = ['operationId', 'summary', 'description', 'x-service-permission', 'x-service-scope', 'x-service-role'];

export function findUnmarkedOperations(root: string): Problem[] {
  const files = (listEntries(root, 'src/contract') ?? []).filter((name) => name.endsWith('.yaml'));
  return files.flatMap((name) => {
    const file = `src/contract/${name}`;
    const { paths } = parse(fs.readFileSync(path.join(root, file), 'utf8')) as { paths?: Record<string, object> };
    return Object.entries(paths ?? {}).flatMap(([route, item]) =>
      Object.entries(item)
        .filter(([method]) => places.path?.[method] === 'operation')
        .flatMap(([method, operation]) =>
          NEEDED.filter((word) => !Object.hasOwn(operation as object, word)).map((word) => ({
            at: `${file}: ${route} ${method}`,
            says: `the operation has no ${word}. Every operation says who may call it; write null where there is none.`,
          })),
        ),
    );
  });
}

function unknownWords(node: unknown, place: string, at: string): Problem[] {
  if (typeof node !== 'object' || node === null) return [];
  const known: Record<string, string> = { ...wordsBesideRef(node, place), $ref: '' };
  return Object.entries(node).flatMap(([word, value]) => {
    const here = at === '' ? word : `${at}.${word}`;
    const inside = known[word];
    if (inside === undefined) return [{ at: here, says: strange(word, place) }];
    const [, next = '', many = ''] = /^(\w*)(\[\]|\{\})?$/.exec(inside) ?? [];
    if (next === '') return [];
    if (many === '') return unknownWords(value, next, here);
    return Object.entries((value ?? {}) as object).flatMap(([key, item]) => unknownWords(item, next, `${here}.${key}`));
  });
}

// OpenAPI 3.1: a schema may have more next to its $ref; elsewhere it belongs to where the ref leads.
function wordsBesideRef(node: object, place: string): Record<string, string> {
  return '$ref' in node && place !== 'schema' ? words('summary description') : (places[place] ?? {});
}

const strange = (word: string, place: string): string =>
  `${JSON.stringify(word)} is no word of a ${place}. A text with a comma needs quotes in a flow map { … }; a keyword that is ` +
  'new to the contract is added to test/tidy/contract-words.ts.';

function words(list: string): Record<string, string> {
  return Object.fromEntries(list.split(' ').map((word) => [word, '']));
}
