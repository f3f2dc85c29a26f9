/**
 * Entry module of the thread for large texts (`platform/text-thread/`), with the tasks that it knows. Each group is
 * loaded on first use.
 */
import { htmlTasks, serveTextTasks } from './platform/text-thread/index.ts';

serveTextTasks({
  html: () => Promise.resolve(htmlTasks),
  templates: async () => (await import('./features/templates/index.ts')).textTasks,
  reports: async () => (await import('./mail/domain-reports/index.ts')).textTasks,
  broadcasts: async () => (await import('./features/campaigns/index.ts')).textTasks,
});
