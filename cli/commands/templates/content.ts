import type { TemplateVariableRequest, UpdateTemplateRequest } from '../../../src/contract/index.ts';
import { CliFault, type CommandProcess } from '../../output/index.ts';
import { readText } from '../emails/read-content.ts';

export interface ContentOptions {
  html?: string;
  htmlFile?: string;
  text?: string;
  textFile?: string;
  subject?: string;
  from?: string;
  replyTo?: string[];
  alias?: string;
  variable?: string[];
}

/** The fields that were named on the command line, and no others. */
export async function readContent(process: CommandProcess, options: ContentOptions): Promise<UpdateTemplateRequest> {
  mustAgree(options);
  const { subject, from, replyTo, alias, variable } = options;
  const html = options.htmlFile === undefined ? options.html : await readText(process, options.htmlFile, '--html-file');
  const text = options.textFile === undefined ? options.text : await readText(process, options.textFile, '--text-file');
  return {
    ...(html === undefined ? {} : { html }),
    ...(alias === undefined ? {} : { alias }),
    ...(from === undefined ? {} : { from }),
    ...(subject === undefined ? {} : { subject }),
    ...(replyTo === undefined ? {} : { reply_to: replyTo }),
    ...(text === undefined ? {} : { text }),
    ...(variable === undefined ? {} : { variables: variable.map(readVariable) }),
  };
}

function mustAgree({ html, htmlFile, text, textFile }: ContentOptions): void {
  for (const [name, given, file] of [
    ['HTML', html, htmlFile],
    ['text', text, textFile],
  ] as const) {
    if (given === undefined || file === undefined) continue;
    const flag = `--${name.toLowerCase()}`;
    throw new CliFault(`the ${name} is given twice, by ${flag} and ${flag}-file; choose one`, 'usage');
  }
  if (htmlFile === '-' && textFile === '-') {
    throw new CliFault('standard input holds one body; read the other one from a file', 'usage');
  }
}

/** What is wrong with a key is the server's to say. */
function readVariable(declaration: string): TemplateVariableRequest {
  const [, key = '', type = 'string', fallback] = /^([^:=]*)(?::([^=]*))?(?:=([^]*))?$/.exec(declaration) ?? [];
  if (type !== 'string' && type !== 'number') {
    throw new CliFault(`--variable has the type string or number; got ${JSON.stringify(declaration)}`, 'usage');
  }
  if (fallback === undefined) return { key, type };
  if (type === 'string') return { key, type, fallback_value: fallback };
  const number = Number(fallback);
  if (fallback.trim() === '' || !Number.isFinite(number)) {
    throw new CliFault(`--variable has no number behind the =; got ${JSON.stringify(declaration)}`, 'usage');
  }
  return { key, type, fallback_value: number };
}
