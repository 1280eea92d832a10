// The page of a pipeline: its contents, and that a browser shows it as intended.
#include "examples/pipelines/tensor_product_steps.h"
#include "samite/jit/page/html.h"
#include "samite/jit/page/page.h"
#include "tests/base/temporary_folder.h"
#include "tests/jit/browser.h"
#include "tests/jit/program_by_hand.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string text_of_file(const std::filesystem::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

auto blur() {
  return Pipeline{"blur", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                    const Var y{"y"}, x{"x"}, yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
                    Func rows{"rows"};
                    Func result{"result", out};
                    rows(y, x) = select(in(y, x) < 1, in(y, x), -in(y, x + 1));
                    result(y, x) = (rows(y, x) + rows(y + 1, x)) / 2;
                    schedule_cpu([&] {
                      result.bound(x, 0, 64).split(y, yo, yi, 8).parallel(yo).vectorize(x, 8);
                      rows.compute_at(result, yi).store_at(result, yo).fold_storage(y, 2);
                    });
                  }};
}

// Text as HTML.

TEST(Html, EscapesWhatHasAMeaning) {
  EXPECT_EQ(html::escaped("a < b && c > \"d\" 'e'"), "a &lt; b &amp;&amp; c &gt; &quot;d&quot; &#39;e&#39;");
  EXPECT_EQ(html::escaped("</script><script>"), "&lt;/script&gt;&lt;script&gt;");
}

TEST(Html, KeepsUtf8AndNothingElse) {
  EXPECT_EQ(html::escaped("Größe, 寸法, 🎬"), "Größe, 寸法, 🎬");
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(html::escaped("a\xff"
                          "b"),
            "a" + replaced + "b");
  EXPECT_EQ(html::escaped("\xc3"), replaced) << "cut off";
  EXPECT_EQ(html::escaped("\xc0\x80"), replaced + replaced) << "a zero in two bytes";
  EXPECT_EQ(html::escaped("\xed\xa0\x80"), replaced + replaced + replaced) << "half of a pair";
  EXPECT_EQ(html::escaped("\xf4\x90\x80\x80"), replaced + replaced + replaced + replaced) << "beyond the last one";
  EXPECT_EQ(html::escaped(std::string_view("\x00\x1b\n\t", 4)), replaced + replaced + "\n\t");
}

TEST(Html, HighlightsCppAndLosesNothing) {
  EXPECT_EQ(html::highlighted("  const f32 v1 = 2.5f;  // <1>"),
            "  <b class=\"w\">const</b> <b class=\"w\">f32</b> v1 = <b class=\"n\">2.5f</b>;  <b class=\"r\">// "
            "&lt;1&gt;</b>");
  for (const std::string line : {"", "\"", "\"\\", "#", "#pragma unroll", "a<b", "x/y//z", "1", "_", "ü \"ü\" ü"}) {
    std::string plain = html::highlighted(line);
    for (std::size_t at; (at = plain.find("<b class=")) != std::string::npos;) plain.erase(at, 13);
    for (std::size_t at; (at = plain.find("</b>")) != std::string::npos;) plain.erase(at, 4);
    EXPECT_EQ(plain, html::escaped(line));
  }
}

// The page as text.

TEST(PipelinePage, EscapesAllNames) {
  jit::Page page;
  const std::string bad = "<i>\"&'ü", good = "&lt;i&gt;&quot;&amp;&#39;ü";
  page.pipeline = page.target = page.schedule = bad;
  page.functions.push_back({bad, bad, false, {{{bad}, SourceLocation("<i>.cpp", 3)}}, {bad}});
  page.nest = {{"produce " + bad, bad, 0}, {bad + "(x) = …", bad, 1}, {"kernel " + bad, bad, 1}};
  page.temporaries.push_back({bad, bad, 4, 1, 1});
  jit::PageKernel kernel;
  kernel.name = kernel.text = kernel.problem = bad;
  kernel.memory.kept.push_back({bad, bad, bad, 1, 4, 0, 1, 2, {}, {}});
  kernel.figures = ReportedVariant{};
  kernel.figures->steps.push_back({bad, 1});
  kernel.figures->objects.push_back({bad, bad, bad, 1, 1});
  page.kernels.push_back(kernel);
  const std::string text = to_html(page);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<i>\"")), Not(HasSubstr("<i>.cpp")), HasSubstr(good)));
}

TEST(PipelinePage, HasTheDefinitionsAndTheScheduleAsTheyWouldBeWritten) {
  TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "page.html";
  const auto pipeline = blur();
  pipeline.report_html(file);
  std::string text = text_of_file(file);
  for (std::size_t at; (at = text.find("<b class=")) != std::string::npos;) text.erase(at, 13);
  for (std::size_t at; (at = text.find("</b>")) != std::string::npos;) text.erase(at, 4);
  EXPECT_THAT(text, HasSubstr("result(y, x) = (rows(y, x) + rows(y + 1, x)) / 2.0"));
  EXPECT_THAT(text, HasSubstr("rows(y, x) = in(y, x) &lt; 1.0 ? in(y, x) : -in(y, x + 1)"));
  EXPECT_THAT(text, HasSubstr("rows.compute_at(result, yi)"));
  EXPECT_THAT(text, HasSubstr("result.split(y, yo, yi, 8)"));
}

TEST(PipelinePage, SaysWhyAFileCannotBeWritten) {
  const auto pipeline = blur();
  const std::string message = message_of<UserError>([&] { pipeline.report_html("/no/such/folder/page.html"); });
  EXPECT_THAT(message,
              AllOf(HasSubstr("the page of pipeline 'blur' cannot be written: "),
                    HasSubstr("/no/such/folder/page.html"), HasSubstr("name a file in a folder that is there")));
}

TEST(PipelinePage, OfAProgramByHandHasItsKernels) {
  SAMITE_ON_THE_CPU();
  const ByHand by_hand{.name = "twice",
                       .parameters = {floats("out", 1)},
                       .steps = {let(0, extent_of(0, 0)), launch(R"(
kernel @fill(@out: array<f32, 1>) threads 1 {
  %0: i32 = thread_index 0
  store @out[%0] = 2.0
})",
                                                                 {local(0)}, {given(0)})}};
  TemporaryFolder folder;
  const std::string file = (folder.path() / "page.html").string();
  by_hand.pipeline<Array<float, 1>>().report_html(file, Device::cpu());
  EXPECT_THAT(text_of_file(file), AllOf(HasSubstr("<h3>fill</h3>"), HasSubstr("samite_fill")));
}

// In a browser.

class PageInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (Browser::program().empty())
      GTEST_SKIP() << "no Chromium is installed: scripts/install-dependencies scripts/packages-browser.txt";
    browser_.emplace(Browser::program());
  }

  // Written anew for each test, because panels folded by one would stay folded in the next.
  template <class P>
  std::string open(const P &pipeline, Device device, const std::string &schedule, int width = 1400) {
    const std::filesystem::path file = folder_.path() / "page <of> \"it\" & ü.html";
    pipeline.report_html(file.string(), device, schedule);
    browser_->open(file, width, 900);
    return file;
  }
  // The texts of all elements that the selector finds.
  std::vector<std::string> texts(const std::string &selector) {
    return browser_->evaluate("[...document.querySelectorAll(" + nlohmann::json(selector).dump() +
                              ")].map(e => e.textContent)");
  }
  int count(const std::string &selector) {
    return browser_->evaluate("document.querySelectorAll(" + nlohmann::json(selector).dump() + ").length");
  }

  TemporaryFolder folder_;
  std::optional<Browser> browser_;
};

std::vector<std::string> trimmed_lines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line = line.substr(line.find_first_not_of(' '));
    if (line.ends_with(':')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

TEST_F(PageInBrowser, HasEachFuncEachLoopAndEachAllocation) {
  const auto pipeline = pipelines::tensor_product_steps();
  open(pipeline, Device::cuda(0), "tiled");
  EXPECT_THAT(texts(".funcs button"),
              ElementsAre("gather_inputshared memory, 32,768 B", "gather_weightshared memory, 16,384 B",
                          "productregisters, 128 B", "outputoutput"));
  EXPECT_THAT(texts(".algorithm .func"), ElementsAre(HasSubstr("gather_input(n, p, c) = input(input_map(n, p), c)"),
                                                     HasSubstr("gather_weight(n, c, m) = weight(n, c, m)"),
                                                     HasSubstr("product(n, p, m) += gather_input(n, p, k) * "
                                                               "gather_weight(n, k, m) for k in 0 .. 64"),
                                                     HasSubstr("output(output_map(pairs0, pairs1), m) += product("
                                                               "pairs0, pairs1, m)")));
  EXPECT_EQ(texts(".nest summary, .nest .leaf"), trimmed_lines(pipeline.loop_nest(Device::cuda(0), "tiled")));
  // Func, memory, elements, type, bytes, offset.
  EXPECT_EQ(browser_->evaluate("[...document.querySelectorAll('.memory tr.kept')].map("
                               "row => [...row.cells].slice(0, 6).map(cell => cell.textContent))"),
            nlohmann::json::parse(R"([["gather_input", "shared memory", "8,192", "f32", "32,768 B", "0"],
                                      ["gather_weight", "shared memory", "4,096", "f32", "16,384 B", "32,768"],
                                      ["product", "registers", "32", "f32", "128 B", ""]])"));
  EXPECT_THAT(texts(".memory .piece"),
              ElementsAre("gather_input, 32,768 B", "gather_weight, 16,384 B", "product, 128 B"));
  EXPECT_THAT(browser_->complaints(), IsEmpty());
  EXPECT_THAT(browser_->requests(), ElementsAre(StartsWith("file://"))) << "the page itself";
}

// A box's height is its share of the bytes, and its position is its offset.
TEST_F(PageInBrowser, DrawsMemoryToScale) {
  open(pipelines::tensor_product_steps(), Device::cuda(0), "tiled");
  const auto boxes = browser_->evaluate(
      "[...document.querySelectorAll('.memory .piece')].map(piece => { const b = "
      "piece.getBoundingClientRect(), d = piece.parentElement.getBoundingClientRect();"
      "return [d.bottom - b.bottom, b.height, d.height, b.left - d.left, d.right - "
      "b.right]; })");
  ASSERT_EQ(boxes.size(), 3u);
  const double all = boxes[0][2];
  EXPECT_NEAR(boxes[0][0], 0, 2);
  EXPECT_NEAR(boxes[0][1], all * 32768 / 49152, 2);
  EXPECT_NEAR(boxes[1][0], all * 32768 / 49152, 2);
  EXPECT_NEAR(boxes[1][1], all * 16384 / 49152, 2);
  for (const auto &box : boxes) {
    EXPECT_GE(box[3], -1);
    EXPECT_GE(box[4], -1);
  }
}

TEST_F(PageInBrowser, AClickLightsAFuncUpEverywhere) {
  open(pipelines::tensor_product_steps(), Device::cuda(0), "tiled");
  EXPECT_EQ(count(".lit"), 0);
  const int weight = 1;
  browser_->click(".nest .name[data-choose='" + std::to_string(weight) + "']");
  for (const char *panel : {".algorithm", ".nest", ".text", ".memory"}) {
    EXPECT_GT(count(std::string(panel) + " .lit"), 0) << panel;
    // Only this Func is highlighted, and not in the panel's heading.
    EXPECT_EQ(count(std::string(panel) + " .lit:not([data-f~='1'])"), 0) << panel;
    EXPECT_EQ(count(std::string(panel) + " [data-f='1']:not(.lit)"), 0) << panel;
  }
  EXPECT_THAT(texts(".algorithm .lit"), ElementsAre(HasSubstr("weight(n, c, m)")));
  EXPECT_THAT(texts(".nest details.lit > summary, .nest .leaf.lit"), Each(HasSubstr("gather_weight")));
  EXPECT_EQ(browser_->evaluate("document.querySelector('.funcs [aria-pressed=true]').dataset.f"), "1");
  EXPECT_NE(browser_->evaluate("getComputedStyle(document.querySelector('.nest .leaf.lit')).backgroundColor"),
            "rgba(0, 0, 0, 0)");

  browser_->click(".funcs button[data-f='2']");
  EXPECT_EQ(count(".lit:not([data-f~='2'])"), 0) << "one at a time";
  EXPECT_GT(count(".memory .piece.lit"), 0);
  browser_->press("Escape");
  EXPECT_EQ(count(".lit"), 0);
  browser_->click(".memory .piece[data-f='0']");
  EXPECT_GT(count(".text .lit"), 0);
  browser_->click(".memory .piece[data-f='0']");
  EXPECT_EQ(count(".lit"), 0) << "a second click takes it back";
  EXPECT_THAT(browser_->complaints(), IsEmpty());
}

TEST_F(PageInBrowser, AClickFolds) {
  open(blur(), Device::cpu(), "");
  const char *last =
      "(() => { const all = document.querySelectorAll('.nest .leaf'); "
      "return all[all.length - 1].checkVisibility(); })()";
  EXPECT_TRUE(browser_->evaluate(last));
  browser_->click(".nest > details > summary .quiet");
  EXPECT_FALSE(browser_->evaluate(last));
  // Choosing a Func opens the panel that hides it.
  browser_->click(".funcs button[data-f='1']");
  EXPECT_TRUE(browser_->evaluate(last));
  for (const std::string panel : {"algorithm", "loops", "text", "memory", "figures"}) {
    browser_->click("." + panel + " > summary h2");
    EXPECT_FALSE(browser_->evaluate("document.querySelector('." + panel + "').open")) << panel;
  }
}

TEST_F(PageInBrowser, FitsADesktopAndAPhone) {
  for (const int width : {1400, 900, 390}) {
    open(blur(), Device::cpu(), "", width);
    EXPECT_LE(browser_->evaluate("document.documentElement.scrollWidth"), width) << "nothing sticks out";
    const auto lefts = browser_->evaluate(
        "['algorithm', 'loops', 'text'].map(panel => Math.round(document."
        "querySelector('.' + panel).getBoundingClientRect().left))");
    if (width == 1400) {
      EXPECT_LT(lefts[0], lefts[1]);
      EXPECT_LT(lefts[1], lefts[2]);
    }
    if (width == 390) {
      EXPECT_EQ(lefts[0], lefts[2]) << "one below the other";
    }
  }
}

// The contrast of two colours of a page, as defined by WCAG; 4.5 is enough to read.
double contrast(const nlohmann::json &colours) {
  const auto luminance = [](const std::string &rgb) {
    double result = 0;
    std::istringstream numbers(rgb.substr(rgb.find('(') + 1));
    for (const double weight : {0.2126, 0.7152, 0.0722}) {
      double value = 0;
      numbers >> value;
      numbers.ignore(1);
      value /= 255;
      result += weight * (value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
    }
    return result;
  };
  const double a = luminance(colours[0]), b = luminance(colours[1]);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

TEST_F(PageInBrowser, IsReadableInLightAndDark) {
  open(blur(), Device::cpu(), "");
  std::vector<std::string> grounds;
  for (const bool dark : {false, true}) {
    browser_->prefer_dark(dark);
    for (const char *selector : {".nest .leaf", ".text b.w", ".text b.n", ".title p", "th"})
      EXPECT_GE(contrast(browser_->evaluate("[getComputedStyle(document.querySelector('" + std::string(selector) +
                                            "')).color, getComputedStyle(document.querySelector('.panel'))"
                                            ".backgroundColor]")),
                4.5)
          << selector << (dark ? ", dark" : ", light");
    grounds.push_back(browser_->evaluate("getComputedStyle(document.body).backgroundColor"));
  }
  EXPECT_NE(grounds[0], grounds[1]);
}

}  // namespace
}  // namespace samite::test
