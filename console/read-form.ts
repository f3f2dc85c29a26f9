import type { Client } from '../cli/client/index.ts';
import type { Action, Body } from '../cli/families/index.ts';
import { readBody, readNamed, readUtf8, type NameOption, type Typed } from '../cli/input/index.ts';
import type { Path } from './carry-out.ts';

/** What the contract promises to take; an installation may take more, and the command line sends it. */
const ATTACHMENTS_MIB_MAX = 30;

/** What an option of the command line is called in a form, which has no dashes. */
const inForm: NameOption = (option) => option.replaceAll('-', ' ');

/** What is filled in, as the operation takes it, with its files read. */
export const readForm = (client: Client, action: Action, path: Path, typed: Typed): Promise<Body> =>
  readBody(action, action.lines ? fill(action.lines.field, typed) : typed, {
    ...{ client, path: () => Promise.resolve(path), nameOf: inForm, cwd: process.cwd() },
    attachmentsMibMax: ATTACHMENTS_MIB_MAX,
    readFile: async (file, field) => readUtf8(await readNamed(file, field, process.cwd()), `${field} ${file}`),
  });

/** The lines of a form that all belong to one field. */
const fill = (field: string, { fields, ...typed }: Typed): Typed => ({
  ...typed,
  fields: { [field]: Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`) },
});
