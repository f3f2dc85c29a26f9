import { notFound, refuse } from '../../platform/refusal/index.ts';
import { readSharedContent, readSharedEmail } from '../../resources/shares/index.ts';
import { ANYBODY, arePagesCrowded, COSTLY_BYTES } from '../costly-turns.ts';
import type { PublicPage } from '../page.ts';
import { sharePageHeaders } from './headers.ts';
import { renderBusyPage, renderNoSharePage } from './no-share-page.ts';
import { renderEmail } from './rendered-email.ts';
import { renderedOnce } from './rendered-emails.ts';
import { renderSharePage } from './share-page.ts';

export const getSharePage: PublicPage<'getSharePage'> = async (
  { services: { world, turns }, reply, accept },
  { path, query },
) => {
  const withRemoteImages = query?.images === '1';
  reply.headers(sharePageHeaders(withRemoteImages));
  // A browser gets a page; a program gets the error body of every other route.
  const isPerson = /\btext\/html\b/i.test(accept);
  const answerBusy = (): string => {
    if (!isPerson) throw refuse('service_unavailable', { say: TOO_MANY });
    reply.code(503).type('text/html; charset=utf-8');
    return renderBusyPage();
  };
  const email = await readSharedEmail(world, path.token);
  if (!email) {
    if (!isPerson) throw notFound('Share link');
    reply.code(404).type('text/html; charset=utf-8');
    return renderNoSharePage();
  }
  if (email.isLarge && arePagesCrowded(turns)) return answerBusy();
  const rendering = renderedOnce(world, email, async () =>
    renderEmail(await readSharedContent(world, email), email.isLarge ? turns : undefined),
  );
  if (!rendering) return answerBusy();
  const content = await rendering;
  reply.type('text/html; charset=utf-8');
  if (content.bytes <= COSTLY_BYTES) return renderSharePage({ email, content, withRemoteImages });
  if (arePagesCrowded(turns)) return answerBusy();
  // Sent within the turn: handing megabytes to the system takes as long as putting them together.
  await turns.take(ANYBODY, () => void reply.send(renderSharePage({ email, content, withRemoteImages })));
  return reply;
};

const TOO_MANY = 'Too many shared emails are being opened just now; try again in a few seconds.';
