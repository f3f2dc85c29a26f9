import { methods, resolveRef, type OpenApiDocument, type Operation, type PathItem } from './document.ts';

/**
 * Shows how the official `resend` client makes each call that it has a method for, as `x-sdk` of the operation says it: `$id` is
 * the example of the path's own parameter, `$body` the example of the body with its names as the client writes them, `$fields`
 * the same without its braces, `$sent` the example as it is. Curl and Python are for the reader of the document to make.
 */
export function addSdkSamples(document: OpenApiDocument): void {
  for (const item of Object.values(document.paths)) {
    for (const method of methods) {
      const operation = item[method];
      const call = operation?.['x-sdk'];
      if (!operation || call === undefined) continue;
      delete operation['x-sdk'];
      const source = `${PREAMBLE}\n\nconst { data, error } = await resend.${filledIn(document, item, operation, call)};\n`;
      operation['x-codeSamples'] = [{ lang: 'JavaScript', label: 'resend', source }];
    }
  }
}

const PREAMBLE = `import { Resend } from 'resend';

// With RESEND_BASE_URL set to the address of this server.
const resend = new Resend(process.env.RASKET_API_KEY);`;

function filledIn(document: OpenApiDocument, item: PathItem, operation: Operation, call: string): string {
  const id = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
    .map((parameter) => resolveRef(document, parameter))
    .find((parameter) => parameter.in === 'path');
  const media = operation.requestBody?.content['application/json'];
  const body = media && (media.example ?? Object.values(media.examples ?? {})[0]?.value);
  const text = literal(body);
  return call
    .replace('$id', () => literal(id?.example))
    .replace('$body', () => text)
    .replace('$sent', () => literal(body, (name) => name))
    .replace(' $fields }', () => `${text.slice(1)}`);
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_pair, letter: string) => letter.toUpperCase());

/** As JavaScript is written: names without quotes, renamed where they are the API's; those in objects of the caller's stay. */
function literal(value: unknown, rename = camelCase): string {
  const depth = Array.isArray(value) ? 4 : 2;
  const text = JSON.stringify(value, null, 2) ?? 'undefined';
  return text.replace(/^( +)"([A-Za-z_]\w*)":/gm, (_all, { length }: string, name: string) => {
    const isField = length === depth || length === depth + 4;
    return `${' '.repeat(length)}${isField ? rename(name) : name}:`;
  });
}
