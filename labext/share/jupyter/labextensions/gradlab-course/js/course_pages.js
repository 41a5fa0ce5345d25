// The course's own pages, which aren't labs: the start page and the glossary.

export const START = '00_start_here.ipynb';
export const HOW = 'How a lab works'; // the heading of a section of that page
export const PAGES = { [START]: HOW, '00_glossary.ipynb': 'Glossary' }; // what each is opened for
const TEXTS = ['labs', 'how', 'glossary']; // ids of the course's cells in them

/** Whether an open notebook is one of these pages. */
export const isCoursePage = panel => Boolean(panel) && panel.context.path.split('/').at(-1) in PAGES;

/** Whether a cell is the course's text in such a page, and not one that the student added. */
export const isPageText = (panel, cell) => isCoursePage(panel) && TEXTS.includes(cell.model.id);
