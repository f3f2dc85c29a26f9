import { hash, timingSafeEqual } from 'node:crypto';
import { randomSecret } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { READER_TEXTS, type Language } from '../readers/reader-texts.ts';
import { insertProof } from './forms.store.ts';

/** The field that contains the challenge, a dot and the number that solves it. */
export const PROOF_FIELD = 'proof_of_work';

/** Zero bits at the start of the SHA-256 hash of a proof. It takes 131,072 hashes on average, about a second on a phone. */
const DIFFICULTY = 17;

/** Long enough for the slowest phone; nothing has to be read or typed between the challenge and the proof. */
const LIFETIME_MS = 10 * 60_000;

const EXPIRY_BYTES = 6;
const RANDOM_AT = EXPIRY_BYTES + 1;
const TAG_AT = RANDOM_AT + 9;
const TAG_BYTES = 16;
/** A proof fits into one block of SHA-256 with this length of the number. */
const PROOF = /^([A-Za-z0-9_-]{43})\.\d{1,11}$/;
const PURPOSE = 'proof of work';

export interface Challenge {
  challenge: string;
  difficulty: number;
  expiresAt: number;
}

export type ProofFault = 'missing' | 'wrong' | 'expired' | 'used';

/** A proof that was computed for the form, and that may have been used before. */
export interface Proof {
  challenge: string;
  expiresAt: number;
}

/** Issues a challenge for one form. It contains all that its check needs, so that nothing is stored before it is solved. */
export function issueChallenge({ clock, secrets }: Store, formId: string): Challenge {
  const expiresAt = clock.now() + LIFETIME_MS;
  const content = Buffer.alloc(TAG_AT);
  content.writeUIntBE(expiresAt, 0, EXPIRY_BYTES);
  content.writeUInt8(DIFFICULTY, EXPIRY_BYTES);
  randomSecret(TAG_AT - RANDOM_AT).copy(content, RANDOM_AT);
  const tag = secrets.mac(PURPOSE, signedPart(formId, content)).subarray(0, TAG_BYTES);
  const challenge = Buffer.concat([content, tag]).toString('base64url');
  return { challenge, difficulty: DIFFICULTY, expiresAt };
}

const signedPart = (formId: string, content: Buffer): Buffer => Buffer.concat([Buffer.from(formId), content]);

/** Checks a proof for a form without the database. */
export function checkProof(store: Store, formId: string, text: string): Proof | Exclude<ProofFault, 'used'> {
  if (text === '') return 'missing';
  const challenge = PROOF.exec(text)?.[1];
  const bytes = Buffer.from(challenge ?? '', 'base64url');
  // The last letter has two spare bits, with which one challenge could be written in four ways.
  if (challenge === undefined || bytes.toString('base64url') !== challenge) return 'wrong';
  const content = bytes.subarray(0, TAG_AT);
  if (!isSigned(store, signedPart(formId, content), bytes.subarray(TAG_AT))) return 'wrong';
  const expiresAt = content.readUIntBE(0, EXPIRY_BYTES);
  if (expiresAt <= store.clock.now()) return 'expired';
  const difficulty = content.readUInt8(EXPIRY_BYTES);
  if (hash('sha256', text, 'buffer').readUInt32BE(0) >>> (32 - difficulty) !== 0) return 'wrong';
  return { challenge, expiresAt };
}

/** Accepts keys from before and after a change of the instance key, which nodes make one after the other. */
function isSigned({ secrets }: Store, signed: Buffer, tag: Buffer): boolean {
  const macs = [secrets.mac(PURPOSE, signed), ...secrets.otherMacs(PURPOSE).map((mac) => mac(signed))];
  return macs.some((mac) => timingSafeEqual(mac.subarray(0, TAG_BYTES), tag));
}

/** Uses a proof up. Returns false if it was used before, on any node. */
export const spendProof = ({ db }: Store, { challenge, expiresAt }: Proof): Promise<boolean> =>
  db.tx((tx) => insertProof(tx, challenge, expiresAt));

/**
 * The script that solves the challenge of the form that contains it. It is the same for all forms, so that a page can
 * allow it by its hash. It hashes by itself, because the hashes of a browser exist only on pages that came by https,
 * and take many times as long for a single block.
 */
export const SOLVER_SCRIPT = `(() => {
  const form = document.currentScript.parentNode;
  const status = form.querySelector('output');
  const proof = form.elements.namedItem('${PROOF_FIELD}');
  let isBusy = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    status.textContent = status.dataset.wait;
    try {
      const answer = await fetch(form.getAttribute('action') + '/challenge', { credentials: 'omit', cache: 'no-store' });
      if (!answer.ok) throw new Error('no challenge: ' + answer.status);
      const { challenge, difficulty } = await answer.json();
      proof.value = challenge === null ? '' : await solve(challenge, difficulty);
      status.textContent = '';
      form.submit();
    } catch {
      status.textContent = status.dataset.failed;
    }
    isBusy = false;
  });

  const constants = [];
  const initial = [];
  const firstBits = (root) => ((root % 1) * 2 ** 32) | 0;
  for (let n = 2; constants.length < 64; n++) {
    let divisor = 2;
    while (n % divisor !== 0) divisor++;
    if (divisor !== n) continue;
    if (initial.length < 8) initial.push(firstBits(n ** (1 / 2)));
    constants.push(firstBits(n ** (1 / 3)));
  }

  async function solve(challenge, difficulty) {
    for (let number = 0; ; number++) {
      const text = challenge + '.' + number;
      if (hashStart(text) >>> (32 - difficulty) === 0) return text;
      if (number % 4096 === 4095) await new Promise((resume) => setTimeout(resume));
    }
  }

  const words = new Int32Array(64);
  function hashStart(text) {
    words.fill(0, 0, 16);
    for (let i = 0; i < text.length; i++) words[i >> 2] |= text.charCodeAt(i) << (24 - (i % 4) * 8);
    words[text.length >> 2] |= 0x80 << (24 - (text.length % 4) * 8);
    words[15] = text.length * 8;
    for (let i = 16; i < 64; i++) {
      const early = words[i - 15];
      const late = words[i - 2];
      const s0 = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
      const s1 = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
      words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = initial;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i] + words[i]) | 0;
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    return (a + initial[0]) | 0;
  }
})();`;

/** Renders what a form with a proof of work has in addition to its fields. */
export function renderSolver(language: Language): string {
  const texts = READER_TEXTS[language];
  return `  <input type="hidden" name="${PROOF_FIELD}">
  <noscript><p>${escapeHtml(texts.scriptNeeded)}</p></noscript>
  <output data-wait="${escapeHtml(texts.proofInProgress)}" data-failed="${escapeHtml(texts.proofFailed)}"></output>
  <script>${SOLVER_SCRIPT}</script>
`;
}
