import { notFound, refuse } from '../../../platform/refusal/index.ts';
import { readSharedContent, readSharedEmail } from '../../../features/sharing/index.ts';
import { ANYBODY, arePagesOverloaded, COSTLY_BYTES } from '../costly-work.ts';
import type { Page } from '../page.ts';
import { sharePageHeaders } from './headers.ts';
import { renderBusyPage, renderNoSharePage } from './no-share-page.ts';
import { renderEmail } from './rendered-email.ts';
import { renderedOnce } from './rendered-emails.ts';
import { renderSharePage } from './share-page.ts';

export const getSharePage: Page<'getSharePage'> = async (
  { store },
  { path, query },
  { services: { executor }, reply, accept },
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
  const email = await readSharedEmail(store, path.token);
  if (!email) {
    if (!isPerson) throw notFound('Share link');
    reply.code(404).type('text/html; charset=utf-8');
    return renderNoSharePage();
  }
  if (email.isLarge && arePagesOverloaded(executor)) return answerBusy();
  const rendering = renderedOnce(store, email, async () =>
    renderEmail(await readSharedContent(store, email), email.isLarge ? store.texts : undefined),
  );
  if (!rendering) return answerBusy();
  const content = await rendering;
  reply.type('text/html; charset=utf-8');
  if (content.bytes <= COSTLY_BYTES) return renderSharePage({ email, content, withRemoteImages });
  if (arePagesOverloaded(executor)) return answerBusy();
  // Sent within the executor: to hand megabytes to the system takes as long as to put them together.
  await executor.run(ANYBODY, () => void reply.send(renderSharePage({ email, content, withRemoteImages })));
  return reply;
};

const TOO_MANY = 'Too many shared emails are being opened just now; try again in a few seconds.';
