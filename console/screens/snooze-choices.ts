interface SnoozeChoice {
  label: string;
  until: Date;
}

const HOUR_MS = 3_600_000;
/** When people begin to work. */
const MORNING = 9;

/** When a thread may come back, by the local clock. */
export function snoozeChoices(now: Date): SnoozeChoice[] {
  const morningIn = (days: number): Date =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING, 0, 0);
  const toMonday = (8 - now.getDay()) % 7 || 7;
  const choices: [string, Date][] = [
    ['in 3 hours', new Date(now.getTime() + 3 * HOUR_MS)],
    ['tomorrow at 9', morningIn(1)],
    ['in 3 days at 9', morningIn(3)],
    ['next Monday at 9', morningIn(toMonday)],
    ['in 4 weeks at 9', morningIn(28)],
  ];
  return choices.map(([label, until]) => ({ label, until }));
}
