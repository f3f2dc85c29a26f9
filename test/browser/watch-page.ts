import type { ConsoleMessage, Dialog, Page, Request } from 'playwright-core';
import { SCRIPT_RAN } from './hostile-html.ts';

/** Requests that the browser itself stopped are reported too; these failures show that they were never sent. */
const STOPPED = /^(?:csp|origin)$|BLOCKED_BY/;
/** A page that was left cuts what it had begun; whether it had gone out, the outside knows. */
const CUT = 'net::ERR_ABORTED';

/**
 * Notes what a page does beyond showing itself; answers how to stop looking at what begins from then on. `mayAsk` names
 * the requests that belong to the page.
 *
 * A request alone proves nothing: the browser names it before it says that a policy stopped it, and how much later it says so
 * is its own affair. So a request counts once it is answered or fails in another way, under the name of the case that
 * began it, however late; what was still open at the end is judged by what the outside was asked for.
 */
export function watchPage(
  page: Page,
  mayAsk: (request: Request) => boolean,
  note: (happened: string) => void,
): () => void {
  const asked = new Set<Request>();
  const told = (request: Request, outcome: string): void => {
    if (asked.has(request)) note(`${request.resourceType()} ${request.url()} (${outcome})`);
  };
  page.on('response', (response) => told(response.request(), `answered ${response.status()}`));
  page.on('requestfailed', (request) => {
    const fault = request.failure()?.errorText ?? 'failed';
    if (fault !== CUT && !STOPPED.test(fault)) told(request, fault);
  });
  const listeners = {
    request: (request: Request): unknown => mayAsk(request) || asked.add(request),
    console: (message: ConsoleMessage): unknown => message.text() === SCRIPT_RAN && note('a script ran'),
    dialog(dialog: Dialog): void {
      note('a dialog opened');
      void dialog.dismiss();
    },
    popup: (): void => note('a window opened'),
    download: (): void => note('a download began'),
  };
  for (const [event, listener] of Object.entries(listeners)) page.on(event as 'popup', listener as () => void);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) page.off(event as 'popup', listener as () => void);
  };
}
