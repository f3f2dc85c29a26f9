import type { PostalAddress, SendEmailRequest } from '../../../contract/index.ts';
import { createUnleasedLoop, type WorkLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world.ts';
import { findMailbox } from '../../../protocol/address/index.ts';
import { chooseTextColor } from '../../../protocol/color-contrast.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { mailOnce, type Accept } from '../../../mail/accept/index.ts';
import { suppressionsAmong } from '../../../mail/suppressions/index.ts';
import { findPublishedVersion } from '../../templates/index.ts';
import { hashOfEmail } from '../contacts/consent.store.ts';
import { findContact } from '../contacts/contacts.store.ts';
import { signUpUrl } from '../contacts/preference-links.ts';
import { chooseOrigin } from './confirmations.ts';
import { formatPostalLines } from '../readers/postal-lines.ts';
import { fillHtml, fillText, READER_TEXTS } from '../readers/reader-texts.ts';
import { countConfirmationMail, uncountConfirmationMail } from '../topics/confirmations.store.ts';
import { CONFIRMATION_URL } from '../topics/topics.ts';
import {
  dueSignUps,
  postponeSignUp,
  removeOldAddresses,
  removeOldProofs,
  removeSignUp,
  type SignUpRow,
} from '../sign-up/forms.store.ts';
import { findOpenForm, hasJoined, type OpenForm } from '../sign-up/sign-up.ts';

/** Needed because requests in other processes do not wake this loop, and for mail that is tried again. */
const POLL_MS = 10_000;
const AT_ONCE = 20;
const RETRY_DELAY_MS = 15 * 60_000;
/** A request that could not be mailed within this time is given up: its person has stopped waiting. */
const TRIED_FOR_MS = 24 * 3_600_000;

/** Creates the loop that asks addresses by mail to confirm what they signed up for with a form. */
export function createSignUpMails(world: World, accept: Pick<Accept, 'acceptEmail'>): WorkLoop {
  const { db, clock, log } = world;
  return createUnleasedLoop<SignUpRow>({
    name: 'confirmations of sign-ups',
    db,
    clock,
    log,
    pollMs: POLL_MS,
    atOnceMax: AT_ONCE,
    wakeOn: ['form_sign_ups'],
    due: (limit) => dueSignUps(db, clock.now(), limit),
    process: (signUp) => mail(world, accept, signUp),
    describe: ({ form_id: formId }) => ({ formId }),
  });
}

/** Forgets when addresses signed up, and the challenges that they solved, once that limits nothing. Returns the number of both. */
export async function forgetSignUpAddresses({ db, clock }: World): Promise<number> {
  return (await removeOldAddresses(db, clock.now())) + (await removeOldProofs(db, clock.now()));
}

async function mail(world: World, accept: Pick<Accept, 'acceptEmail'>, signUp: SignUpRow): Promise<void> {
  const { db, clock, log } = world;
  const { id, team_id: teamId, form_id: formId } = signUp;
  const open = await findOpenForm(db, formId);
  const emailHash = hashOfEmail(findMailbox(signUp.email_key));
  const one = { topicId: formId, emailHash, askingId: id };
  const isWanted = open !== undefined && (await mayAsk(world, open, signUp));
  if (!isWanted || !(await db.tx((tx) => countConfirmationMail(tx, one, clock.now())))) {
    await db.tx((tx) => removeSignUp(tx, id));
    return;
  }
  const input = await composeMail(world, open, signUp);
  const fault =
    input === undefined
      ? 'the form has no published confirmation template'
      : await mailOnce(world, accept, { teamId, job: 'sign-ups', input, kind: 'sign-up', occasion: id });
  const isGivenUp = fault !== undefined && signUp.created_at <= clock.now() - TRIED_FOR_MS;
  if (fault !== undefined) log.warn({ teamId, formId, isGivenUp }, `a sign-up could not be mailed: ${fault}`);
  await db.tx(async (tx) => {
    if (fault !== undefined) await uncountConfirmationMail(tx, one);
    if (fault === undefined || isGivenUp) await removeSignUp(tx, id);
    else await postponeSignUp(tx, id, clock.now() + RETRY_DELAY_MS);
  });
}

/** Returns false for an address that is suppressed, or has what it signed up for. */
async function mayAsk(
  { db }: World,
  open: OpenForm,
  { team_id: teamId, email_key: emailKey }: SignUpRow,
): Promise<boolean> {
  if ((await suppressionsAmong(db, [[teamId, emailKey]])).length > 0) return false;
  const contact = await findContact(db, teamId, { emailKey });
  return contact === undefined || !(await hasJoined(db, open, contact));
}

/** Composes the mail; undefined if the template of the form is gone. */
async function composeMail(world: World, open: OpenForm, signUp: SignUpRow): Promise<SendEmailRequest | undefined> {
  const { form } = open;
  const { team_id: teamId, email: to } = signUp;
  const name = open.topic?.name ?? form.name;
  const { confirmation_template_id: templateId } = form;
  const buildLink = async (from: string | undefined): Promise<string> => {
    const contact = { id: signUp.id, team_id: teamId, email_key: signUp.email_key };
    return signUpUrl(world, await chooseOrigin(world, teamId, from), { contact, formId: form.id });
  };
  if (templateId === null) {
    const from = form.sender ?? '';
    return { from, to, ...composeShipped(open, signUp, { name, link: await buildLink(from) }) };
  }
  const version = await findPublishedVersion(world.db, teamId, templateId);
  if (!version) return undefined;
  const values: Record<string, string> = { [CONFIRMATION_URL]: await buildLink(version.from), TOPIC_NAME: name };
  const variables = Object.fromEntries(Object.entries(values).filter(([key]) => version.variables.has(key)));
  return { to, template: { id: templateId, variables } };
}

/** Composes the mail that comes with the product, in the language of the person. */
function composeShipped(
  { team }: OpenForm,
  { email, language }: SignUpRow,
  { name, link }: { name: string; link: string },
): Pick<SendEmailRequest, 'subject' | 'html' | 'text' | 'headers'> {
  const texts = READER_TEXTS[language];
  const sender = team.sender_name ?? team.name;
  const names = { sender, topic: name, email };
  const postal = team.postal_address === null ? undefined : (JSON.parse(team.postal_address) as PostalAddress);
  const footer = [sender, ...(postal ? formatPostalLines(postal, language) : [])];
  const escaped = Object.fromEntries(Object.entries(names).map(([key, value]) => [key, escapeHtml(value)]));
  const ground = team.accent_color ?? '#0b57d0';
  const button = `display:inline-block;padding:12px 20px;border-radius:6px;background:${ground};color:${chooseTextColor(ground)};font-weight:bold;text-decoration:none`;
  const subject = fillText(texts.confirmSubject, names);
  const html = `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>
<body style="margin:0;padding:24px;font-family:sans-serif;font-size:16px;line-height:24px;color:#1b1f24">
<p>${fillHtml(texts.requestReceived, escaped)}</p>
<p><a href="${escapeHtml(link)}" style="${button}">${escapeHtml(texts.confirm)}</a></p>
<p>${escapeHtml(texts.notRequested)}</p>
<p style="font-size:13px;line-height:18px;color:#57606a">${footer.map(escapeHtml).join('<br>')}</p>
</body></html>
`;
  const text = [
    fillText(texts.requestReceived, names),
    `${texts.confirm}:\n${link}`,
    texts.notRequested,
    `-- \n${footer.join('\n')}`,
  ].join('\n\n');
  return { subject, html, text, headers: { 'Auto-Submitted': 'auto-generated' } };
}
