import type { AnswerOf } from '../../client/index.ts';
import { callOf } from '../../input/index.ts';
import type { Session } from '../declare.ts';
import { prepare, tell, type Call } from '../run-action.ts';
import { openPage } from './open-page.ts';
import { previewPage } from './preview-page.ts';

export async function runPreview(session: Session, call: Call): Promise<void> {
  const [path, body] = await prepare(session, call);
  const answer = await session.client.call(...callOf(call.action, path, body));
  if (call.options['open'] !== true) return tell(session, call, answer, body);
  const { terminal, process, isJson } = session;
  const { file, isOpened } = await openPage(process.env, previewPage(answer as AnswerOf<'previewBroadcast'>));
  if (isJson) return terminal.printJson(answer);
  terminal.print(terminal.isTty ? `${isOpened ? 'Opened' : 'Written'}  ${file}` : file);
  if (!isOpened) terminal.hint('There is no browser to open it with; open the file yourself.');
}
