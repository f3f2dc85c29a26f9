import { uploadImage } from '../../input/index.ts';
import type { Session } from '../declare.ts';
import { prepare, type Call } from '../run-action.ts';

/** Uploads one image after the other; those uploaded before a refusal are reported. */
export async function runUpload(session: Session, call: Call): Promise<void> {
  const { client, terminal, process, isJson } = session;
  const [, body] = await prepare(session, call);
  for (const file of body['file'] as string[]) {
    const image = await uploadImage(client, file, process.cwd()).catch((error: unknown) => {
      terminal.warn(`rasket: ${JSON.stringify(file)} was not uploaded.`);
      throw error;
    });
    if (isJson) terminal.printJson(image);
    else terminal.print(terminal.isTty ? `Uploaded  ${image.id}\n          ${image.url}` : `${image.id}\t${image.url}`);
  }
}
