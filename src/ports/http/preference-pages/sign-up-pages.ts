import type { IncomingMessage } from 'node:http';
import {
  checkProof,
  fillHtml,
  fillText,
  findOpenForm,
  issueChallenge,
  PROOF_FIELD,
  readAcceptLanguage,
  readLanguage,
  READER_TEXTS,
  renderSolver,
  requestSignUp,
  SOLVER_SCRIPT,
  spendProof,
  TRAP_FIELD,
  type Language,
  type OpenForm,
  type ProofFault,
} from '../../../features/audience/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { isUuid } from '../../../platform/ids.ts';
import { createMessageRate } from '../../../platform/limits/index.ts';
import type { World } from '../../../platform/world.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi } from '../layout/index.ts';
import type { RateLimit } from '../rate-limit.ts';
import { readForm } from './read-form.ts';
import {
  frameTeamPage,
  renderBusy,
  renderMethodRefused,
  renderPage,
  renderPlain,
  renderTooLarge,
  withHeaders,
  type Answer,
  type RenderedPage,
} from './render.ts';

const HOUR_MS = 3_600_000;
const HOUR_SECONDS = 3600;

export const renderClosed = (language: Language): RenderedPage =>
  renderPlain(language, 'formClosed', 'formClosedAdvice');

export const redirectTo = (url: string): Answer => ({
  status: 303,
  html: '',
  headers: { location: url, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
});

/**
 * Creates the pages of sign-up forms. A POST takes an address from our own page, from a site that the form allows, or
 * from a program. The response depends on the form and on what was sent, never on what is known of the address.
 */
export function createSignUpPages(world: World, rateLimit: RateLimit) {
  const { sign_ups_per_client_per_hour: perClient, sign_ups_per_form_per_hour: perForm } = world.config.forms;
  const mayClient = createMessageRate(world.clock, perClient, HOUR_MS);
  const mayForm = createMessageRate(world.clock, perForm, HOUR_MS);

  /**
   * Answers a request for the page of a form, or for a challenge. `target` is the id of the form, or that with
   * `/challenge`, and `client` identifies the network that the request came from.
   */
  async function answer(
    request: IncomingMessage,
    { target, client }: { target: string; client: string },
  ): Promise<Answer> {
    const { method = '', headers } = request;
    const [formId = '', part] = target.split('/', 2);
    const methods = part === undefined ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD'];
    const preferred = readAcceptLanguage(headers['accept-language']);
    const language = preferred ?? 'en';
    if (!methods.includes(method)) {
      return { status: 405, ...withHeaders(renderMethodRefused(language), { allow: methods.join(', ') }) };
    }
    const rate = await rateLimit.take(client);
    if (!rate.allowed) {
      return { status: 429, ...withHeaders(renderBusy(language), { 'retry-after': String(rate.retryAfterSeconds) }) };
    }
    const isKnown = isUuid(formId) && (target === formId || target === `${formId}/challenge`);
    const open = isKnown ? await findOpenForm(world.db, formId.toLowerCase()) : undefined;
    if (!open) return { status: 404, ...renderClosed(language) };
    if (method !== 'POST' && part === undefined)
      return { status: 200, ...renderSignUp(open, preferred ?? open.team.default_language) };
    const site = readSite(open, headers);
    if (site === 'refused') return refuseSite(request, preferred ?? open.team.default_language);
    const answered =
      part === undefined
        ? await takeAddress(request, open, { client, preferred })
        : { status: 200, ...writeChallenge(open) };
    return site === undefined ? answered : { ...answered, ...withHeaders(answered, allowSite(site)) };
  }

  async function takeAddress(
    request: IncomingMessage,
    open: OpenForm,
    { client, preferred }: { client: string; preferred: Language | undefined },
  ): Promise<Answer> {
    const isProgram = isByProgram(request.headers);
    const fallback = preferred ?? open.team.default_language;
    if (!mayClient(client)) return refuseBusy(isProgram, fallback);
    const fields = await readForm(request);
    if (!fields) return { status: 413, ...renderTooLarge(fallback) };
    const language = readLanguage(fields.get('language') ?? '') ?? fallback;
    const written = (fields.get('email') ?? '').trim();
    const parsed = parseMailbox(written);
    if (!parsed.ok || parsed.mailbox.name !== '') {
      const page = renderSignUp(open, language, { written, fault: 'invalidEmail' });
      return { status: 400, ...(isProgram ? writeJson({ status: 'invalid_email' }) : page) };
    }
    const needsProof = open.form.proof_of_work === 1;
    const refuseProof = (fault: ProofFault): Answer => {
      const page = renderSignUp(open, language, { written, fault: 'proofRefused' });
      return { status: 400, ...(isProgram ? writeProofFault(open, fault) : page) };
    };
    const proof = needsProof ? checkProof(world, open.form.id, fields.get(PROOF_FIELD) ?? '') : undefined;
    if (typeof proof === 'string') return refuseProof(proof);
    // Addresses without a proof must not use up the limit of the form, and a proof is used up only within it.
    if (!mayForm(open.form.id)) return refuseBusy(isProgram, language);
    if (typeof proof === 'object' && !(await spendProof(world, proof))) return refuseProof('used');
    const email = parsed.mailbox.address;
    // A program filled in the field that people do not see; it must not learn that.
    if ((fields.get(TRAP_FIELD) ?? '') === '') await requestSignUp(world, open, { email, language });
    if (isProgram) return { status: 202, ...writeJson({ status: 'pending' }) };
    const { redirect_url: redirectUrl } = open.form;
    return redirectUrl === null ? { status: 200, ...renderPending(open, language, email) } : redirectTo(redirectUrl);
  }

  /** A form without a proof of work has no challenge, so that its earlier snippet still sends addresses. */
  function writeChallenge({ form }: OpenForm): RenderedPage {
    if (form.proof_of_work !== 1) return writeJson({ challenge: null });
    const { challenge, difficulty, expiresAt } = issueChallenge(world, form.id);
    return writeJson({ challenge, difficulty, expires_at: isoTime(expiresAt) });
  }

  return { answer };
}

function refuseBusy(isProgram: boolean, language: Language): Answer {
  const page = renderPlain(language, 'busy', 'tooManySignUps');
  const busy = isProgram ? writeJson({ status: 'too_many_requests' }) : page;
  return { status: 429, ...withHeaders(busy, { 'retry-after': String(HOUR_SECONDS) }) };
}

/** Refuses a form that was sent from a site that it does not allow. */
function refuseSite({ headers }: IncomingMessage, language: Language): Answer {
  const page = renderPlain(language, 'formNotFromHere', 'formNotFromHereAdvice');
  return { status: 403, ...(isByProgram(headers) ? writeJson({ status: 'origin_not_allowed' }) : page) };
}

const isByProgram = ({ accept = '' }: IncomingMessage['headers']): boolean => /\bapplication\/json\b/i.test(accept);

const PROOF_FAULTS: Record<ProofFault, string> = {
  missing: 'is missing',
  wrong: 'does not solve a challenge of this form',
  expired: 'solves a challenge that has expired',
  used: 'solves a challenge that was used before',
};

const writeProofFault = ({ form }: OpenForm, fault: ProofFault): RenderedPage =>
  writeJson({
    status: 'invalid_proof_of_work',
    field: PROOF_FIELD,
    reason: fault,
    message: `${PROOF_FIELD} ${PROOF_FAULTS[fault]}; get a new challenge from GET /subscribe/${form.id}/challenge, solve it, and send the address with the result.`,
  });

/**
 * Returns the origin of another site that sent the form; undefined for our own page, and for a program that is no
 * browser.
 */
function readSite({ form }: OpenForm, { origin, host }: IncomingMessage['headers']): string | undefined {
  if (origin === undefined || URL.parse(origin)?.host === host) return undefined;
  return (JSON.parse(form.allowed_origins) as string[]).includes(origin) ? origin : 'refused';
}

const allowSite = (origin: string): Record<string, string> => ({
  'access-control-allow-origin': origin,
  vary: 'Origin',
});

const writeJson = (body: object): RenderedPage => ({
  html: JSON.stringify(body),
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
});

const EMAIL_CHARS_MAX = 320;

/** The reason for which an address that was sent is shown again. */
interface Refused {
  written: string;
  fault: 'invalidEmail' | 'proofRefused';
}

/** Renders the form, with an address that was refused. */
function renderSignUp(open: OpenForm, language: Language, refused?: Refused): RenderedPage {
  const texts = READER_TEXTS[language];
  const { form, topic } = open;
  const says = topic?.description ?? null;
  const needsProof = form.proof_of_work === 1;
  const value = refused === undefined ? '' : ` value="${escapeHtml(refused.written.slice(0, EMAIL_CHARS_MAX))}"`;
  const isBad = refused?.fault === 'invalidEmail';
  const fault = isBad ? `<span class="fault" id="fault">${escapeHtml(texts.invalidEmail)}</span>` : '';
  const marks = value + (isBad ? ' aria-invalid="true" aria-describedby="fault"' : '');
  const alert =
    refused?.fault === 'proofRefused' ? `<p class="alert" role="alert">${escapeHtml(texts.proofRefused)}</p>\n` : '';
  const page = renderPage(
    { title: fillText(texts.subscribeTo, { topic: topic?.name ?? form.name }), language },
    `${alert}${says === null ? '' : `<p>${bdi(says)}</p>\n`}<form method="post" action="/subscribe/${form.id}">
<div class="field"><label for="email">${escapeHtml(texts.emailAddress)}</label><input id="email" type="email" name="email" autocomplete="email" maxlength="254" required${marks}>${fault}</div>
<p hidden><label>${escapeHtml(texts.leaveEmpty)} <input name="${TRAP_FIELD}" tabindex="-1" autocomplete="off"></label></p>
<input type="hidden" name="language" value="${language}">
<button type="submit">${escapeHtml(texts.subscribe)}</button>
${needsProof ? renderSolver(language) : ''}</form>`,
    {
      ...frameTeamPage(open.team, language),
      redirectsTo: form.redirect_url,
      script: needsProof ? SOLVER_SCRIPT : undefined,
    },
  );
  // Without a referrer, browsers would not name our own page as the origin of the form.
  return withHeaders(page, { 'referrer-policy': 'same-origin' });
}

/** Renders the page after a form was sent. It is the same for every address. */
function renderPending(open: OpenForm, language: Language, email: string): RenderedPage {
  const texts = READER_TEXTS[language];
  const says = fillHtml(texts.checkInboxAdvice, { email: `<strong>${bdi(email)}</strong>` });
  return renderPage({ title: texts.checkInbox, language }, `<p role="status">${says}</p>`, {
    ...frameTeamPage(open.team, language),
  });
}
