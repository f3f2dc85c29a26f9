import type { Session } from '../declare.ts';
import { editText, readPath } from '../../input/index.ts';
import { runAction, type Call } from '../run-action.ts';
import { readTyped } from '../read-typed.ts';

/** Changes the named fields; without any, opens the editor on the text. */
export async function editDraft(session: Session, call: Call): Promise<void> {
  const { client, process, terminal, isJson } = session;
  const { fields, files, cleared } = readTyped(call.action, [], call.options);
  const isNamed = [fields, files, cleared].some((given) => Object.keys(given).length > 0);
  if (isNamed || !process.stdin.isTTY) return runAction(session, call);
  const { inbox = '', draft_id = '' } = await readPath(client, call.action.path, call.words as string[]);
  const path = { inbox, draft_id };
  const { text, html, to, subject } = await client.call('getInboxDraft', { path });
  const below = [
    '# Write above the scissors line. Nothing below it is saved.',
    ...(html === null ? [] : ['# The draft has HTML too, which is removed, since it would not have your changes.']),
    '',
    ...(to ? [`# To: ${to.join(', ')}`] : []),
    ...(subject === null ? [] : [`# Subject: ${subject}`]),
  ];
  const written = await editText(process, { begin: text ?? '', below });
  const body = html === null ? { text: written.text } : { text: written.text, html: null };
  try {
    const changed = await client.call('updateInboxDraft', { path, body });
    written.remove();
    if (isJson) terminal.printJson(changed);
    else terminal.printText(terminal.isTty ? `Changed  ${changed.id}` : changed.id);
  } catch (error) {
    terminal.warn(`Your text is saved in ${written.file}.`);
    throw error;
  }
}
