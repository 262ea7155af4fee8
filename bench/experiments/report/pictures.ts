import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const CHROMIUMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Saves each plot of the page as a PNG. Returns how many; none where no Chromium is installed, which it says. */
export async function savePictures(page: string, folder: string, say: (text: string) => void): Promise<number> {
  const executablePath = process.env.SPILLWAY_CHROMIUM ?? CHROMIUMS.find((path) => existsSync(path));
  if (executablePath === undefined) {
    say("No pictures: no Chromium was found (SPILLWAY_CHROMIUM names one). The page has the plots.");
    return 0;
  }
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const view = await browser.newPage({ viewport: { width: 960, height: 700 }, deviceScaleFactor: 2 });
    await view.goto(pathToFileURL(resolve(page)).href);
    let saved = 0;
    for (const section of await view.locator("section").all()) {
      const name = await section.getAttribute("id");
      for (const figure of await section.locator("figure").all())
        await figure.screenshot({ path: join(folder, `${name}-${++saved}.png`) });
    }
    return saved;
  } finally {
    await browser.close();
  }
}
