import type { Scene } from './scene.ts';

/** The mails that came to an address, oldest first, with quoted-printable undone. */
export const mailsTo = (scene: Scene, email: string): string[] =>
  scene.sink.messages
    .filter(({ rcptTo }) => rcptTo.includes(email))
    .map(({ data }) => data.toString('utf8').replaceAll(/=\r\n/g, '').replaceAll('=3D', '='));

export const subjectsTo = (scene: Scene, email: string): (string | undefined)[] =>
  mailsTo(scene, email).map((mail) => /^Subject: (.*)\r$/m.exec(mail)?.[1]);

/** The token in the link of the newest mail. */
export function tokenTo(scene: Scene, email: string): string {
  const token = /\?token=(\w+_[\w-]+)/.exec(mailsTo(scene, email).at(-1) ?? '')?.[1];
  if (token === undefined) throw new Error(`no token came to ${email}`);
  return token;
}
